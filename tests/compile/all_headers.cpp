/* all_headers.cpp - the public headers of core, nn, train and its sources, and import together, as C++. */
#include <burn/burn.h>
#include <burn/burn.hpp>
#include <burn/datasets.h>
#include <burn/datasets.hpp>
#include <burn/module.hpp>
#include <burn/nn.h>
#include <burn/nn.hpp>
#include <burn/store.h>
#include <burn/train.h>
#include <burn/train.hpp>
