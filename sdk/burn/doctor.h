/* doctor.h - the two files of burn doctor: one gathers, one prints. */
#ifndef BURN_SDK_DOCTOR_H
#define BURN_SDK_DOCTOR_H

#include "command.h"

/* Prints what doctor.c gathered as text. */
void doctor_print(const cJSON *root);

#endif
