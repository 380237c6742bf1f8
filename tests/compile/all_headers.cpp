/* all_headers.cpp - the public headers of core, nn and train together, as C++. */
#include <burn/burn.h>
#include <burn/burn.hpp>
#include <burn/module.hpp>
#include <burn/nn.h>
#include <burn/nn.hpp>
#include <burn/train.h>
#include <burn/train.hpp>
