/* train.h - data, optimizers and the learner. It trains modules of any kind and does not know the layers of nn/. */
#ifndef BURN_TRAIN_H
#define BURN_TRAIN_H

#include <burn/train/average.h>
#include <burn/train/checkpoint.h>
#include <burn/train/class_files.h>
#include <burn/train/data_parallel.h>
#include <burn/train/dataset.h>
#include <burn/train/evaluator.h>
#include <burn/train/grad_scaler.h>
#include <burn/train/interrupter.h>
#include <burn/train/lbfgs.h>
#include <burn/train/learner.h>
#include <burn/train/loader.h>
#include <burn/train/logger.h>
#include <burn/train/metric.h>
#include <burn/train/model_library.h>
#include <burn/train/optimizer.h>
#include <burn/train/renderer.h>
#include <burn/train/report.h>
#include <burn/train/rl.h>
#include <burn/train/schedule.h>
#include <burn/train/step.h>
#include <burn/tokenizer.h>
#include <burn/train/wav.h>

#endif
