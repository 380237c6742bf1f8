/* train_defaults_test.c - the configs of optimizers, schedules, metrics and reinforcement learning: Burn's defaults,
 * which are not PyTorch's (epsilon 1e-5, dampening 0.1, a decay of 1e-4). Rows of ours are flat where
 * Burn nests them, as those of momentum. */
#include "config_defaults.h"

#include <burn/train.h>

#define CLIPPING ",'clipping':'None'}"
#define CONFUSION "'top_k':1,'threshold':0.5,'micro':false}"
#define SSIM "'pixel_range':1.0,'k1':0.01,'k2':0.03,'kernel_size':11,'sigma':1.5"

static const ConfigDefaults configs[] = {
    {BurnSgdConfig_type, "{'weight_decay':null,'momentum':null,'dampening':0.1,'nesterov':false" CLIPPING},
    {BurnAdamConfig_type, "{'beta_1':0.9,'beta_2':0.999,'epsilon':1e-05,'weight_decay':null,'amsgrad':false" CLIPPING},
    {BurnAdamWConfig_type,
     "{'beta_1':0.9,'beta_2':0.999,'epsilon':1e-05,'weight_decay':0.0001,'cautious_weight_decay':false,"
     "'amsgrad':false" CLIPPING},
    {BurnRmsPropConfig_type,
     "{'alpha':0.99,'momentum':0.9,'epsilon':1e-05,'centered':false,'weight_decay':null" CLIPPING},
    {BurnAdaGradConfig_type, "{'lr_decay':0.0,'epsilon':1e-05,'weight_decay':null" CLIPPING},
    {BurnAdanConfig_type,
     "{'beta_1':0.98,'beta_2':0.92,'beta_3':0.99,'epsilon':1e-08,'weight_decay':0.0,'no_prox':false" CLIPPING},
    {BurnMuonConfig_type,
     "{'weight_decay':null,'momentum':0.95,'dampening':0.0,'nesterov':true,'ns_a':3.4445,'ns_b':-4.775,'ns_c':2.0315,"
     "'epsilon':1e-07,'ns_steps':5,'adjust_lr':'Original'" CLIPPING},
    {BurnLbfgsConfig_type, /* a max_eval of 0 is 5/4 of max_iter */
     "{'max_iter':20,'history_size':100,'tolerance_grad':1e-07,'tolerance_change':1e-09,'max_eval':0,"
     "'line_search':'None'}"},
    {BurnConstantRateConfig_type, "{'lr':0.0}"},
    {BurnLinearRateConfig_type, "{'initial_lr':0.0,'final_lr':0.0,'num_iters':0}"},
    {BurnExponentialRateConfig_type, "{'initial_lr':0.0,'gamma':0.0}"},
    {BurnCosineAnnealingConfig_type, "{'initial_lr':0.0,'num_iters':0,'min_lr':0.0}"},
    {BurnStepRateConfig_type, "{'initial_lr':0.0,'step_size':0,'gamma':0.1}"},
    {BurnNoamConfig_type, "{'factor':0.0,'warmup_steps':4000,'model_size':512}"},
    {BurnComposedRateConfig_type, "{'reduction':'Prod'}"},
    {BurnTopKAccuracyConfig_type, "{'k':0,'pad_token':-1}"},
    {BurnTokenConfig_type, "{'pad_token':-1}"},
    {BurnFBetaConfig_type, "{'beta':1.0," CONFUSION},
    {BurnConfusionConfig_type, "{" CONFUSION},
    {BurnAurocConfig_type, "{'micro':false}"},
    {BurnAucPrConfig_type, "{'micro':false}"},
    {BurnHammingScoreConfig_type, "{'threshold':0.5,'sigmoid':false}"},
    {BurnBleuConfig_type, "{'max_n':4,'pad_token':-1,'epsilon':0.0,'exponential':false}"},
    {BurnDiceConfig_type, "{'epsilon':1e-07,'include_background':false}"},
    {BurnPsnrConfig_type, "{'max_pixel_value':1.0,'eps':1e-10}"},
    {BurnSsimConfig_type, "{" SSIM "}"},
    {BurnMsSsimConfig_type, "{" SSIM ",'scales':5}"},
    {BurnOffPolicyConfig_type,
     "{'steps':0,'replay_capacity':1024,'batch_size':32,'warmup_steps':0,'train_interval':1,'train_steps':1,"
     "'eval_interval':10000,'eval_episodes':1,'seed':0}"}};

static void defaults_are_burns(void **state) {
  (void)state;
  assert_config_defaults(configs, sizeof configs / sizeof configs[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_are_burns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
