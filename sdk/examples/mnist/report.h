/* report.h - what the model makes of the test digits, for the report. */
#ifndef BURN_EXAMPLES_MNIST_REPORT_H
#define BURN_EXAMPLES_MNIST_REPORT_H

#include "model.h"

/* Writes confusion matrix and samples, wrong ones first, into the artifact
 * folder, and report.html. */
BurnStatus mnist_report(const Model *model, BurnDevice *device,
                        BurnDataset *test, const char *artifact);

#endif
