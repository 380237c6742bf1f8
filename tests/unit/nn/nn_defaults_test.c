/* nn_defaults_test.c - the configs of all layers and losses: the names and defaults of Burn's Config structs, required
 * rows first. */
#include "config_defaults.h"

#include <burn/nn.h>

/* Uniform in +-1 / sqrt(fan_in): gain 1 / sqrt(3). */
#define KAIMING "{'KaimingUniform':{'gain':0.5773502691896258,'fan_out_only':false}}"
#define XAVIER "{'XavierNormal':{'gain':1.0}}"

#define CONV_STEPS(ONES) "'stride':" ONES ",'dilation':" ONES ",'groups':1"
#define CONV(ONES) CONV_STEPS(ONES) ",'padding':'Valid','bias':true,'initializer':" KAIMING "}"
#define CONV_TRANSPOSE(ONES, ZEROS) \
  CONV_STEPS(ONES) ",'padding':" ZEROS ",'padding_out':" ZEROS ",'bias':true,'initializer':" KAIMING "}"
#define TRANSFORMER                                                                                        \
  "{'d_model':0,'d_ff':0,'n_heads':0,'n_layers':0,'dropout':0.1,'norm_first':false,'quiet_softmax':false," \
  "'initializer':" KAIMING ",'activation':'Gelu','layer_norm_eps':1e-05}"
#define RECURRENT "{'d_input':0,'d_hidden':0,'bias':false,'initializer':" XAVIER
#define GRU_ACTIVATIONS "'gate_activation':'Sigmoid','hidden_activation':'Tanh','clip':null}"
#define LSTM_OPTIONS \
  "'clip':null,'input_forget':false,'gate_activation':'Sigmoid','cell_activation':'Tanh','hidden_activation':'Tanh'}"

static const ConfigDefaults configs[] = {
    {BurnLinearConfig_type, "{'d_input':0,'d_output':0,'bias':true,'initializer':" KAIMING ",'layout':'Row'}"},
    {BurnEmbeddingConfig_type, "{'n_embedding':0,'d_model':0,'initializer':{'Normal':{'mean':0.0,'std':1.0}}}"},
    {BurnDropoutConfig_type, "{'prob':0.0}"},
    {BurnGaussianNoiseConfig_type, "{'std':0.0}"},
    {BurnPixelShuffleConfig_type, "{'upscale_factor':0}"},
    {BurnPixelUnshuffleConfig_type, "{'downscale_factor':0}"},
    {BurnPairwiseDistanceConfig_type, "{'p':2.0,'eps':1e-06}"},
    {BurnCosineSimilarityConfig_type, "{'dim':1,'eps':1e-08}"},
    {BurnUnfold4dConfig_type, "{'kernel_size':[0,0],'stride':[1,1],'dilation':[1,1],'padding':[0,0]}"},
    {BurnFold4dConfig_type,
     "{'output_size':[0,0],'kernel_size':[0,0],'stride':[1,1],'dilation':[1,1],'padding':[0,0]}"},
    {BurnInterpolate1dConfig_type, "{'output_size':0,'scale_factor':null,'mode':'Nearest','align_corners':true}"},
    {BurnInterpolate2dConfig_type,
     "{'output_size':[0,0],'scale_height':null,'scale_width':null,'mode':'Nearest','align_corners':true}"},
    {BurnConv1dConfig_type, "{'channels_in':0,'channels_out':0,'kernel_size':0," CONV("1")},
    {BurnConv2dConfig_type, "{'channels':[0,0],'kernel_size':[0,0]," CONV("[1,1]")},
    {BurnConv3dConfig_type, "{'channels':[0,0],'kernel_size':[0,0,0]," CONV("[1,1,1]")},
    {BurnConvTranspose1dConfig_type, "{'channels':[0,0],'kernel_size':0," CONV_TRANSPOSE("1", "0")},
    {BurnConvTranspose2dConfig_type, "{'channels':[0,0],'kernel_size':[0,0]," CONV_TRANSPOSE("[1,1]", "[0,0]")},
    {BurnConvTranspose3dConfig_type, "{'channels':[0,0],'kernel_size':[0,0,0]," CONV_TRANSPOSE("[1,1,1]", "[0,0,0]")},
    {BurnDeformConv2dConfig_type,
     "{'channels':[0,0],'kernel_size':[0,0],'stride':[1,1],'dilation':[1,1],'weight_groups':1,'offset_groups':1,"
     "'padding':'Valid','bias':true,'initializer':" KAIMING "}"},
    /* a stride of 0 is the kernel size */
    {BurnMaxPool1dConfig_type, "{'kernel_size':0,'stride':0,'padding':'Valid','dilation':1,'ceil_mode':false}"},
    {BurnMaxPool2dConfig_type,
     "{'kernel_size':[0,0],'strides':[0,0],'padding':'Valid','dilation':[1,1],'ceil_mode':false}"},
    {BurnAvgPool1dConfig_type,
     "{'kernel_size':0,'stride':0,'padding':'Valid','count_include_pad':true,'ceil_mode':false}"},
    {BurnAvgPool2dConfig_type,
     "{'kernel_size':[0,0],'strides':[0,0],'padding':'Valid','count_include_pad':true,'ceil_mode':false}"},
    {BurnAdaptiveAvgPool1dConfig_type, "{'output_size':0}"},
    {BurnAdaptiveAvgPool2dConfig_type, "{'output_size':[0,0]}"},
    {BurnAdaptiveAvgPool3dConfig_type, "{'output_size':[0,0,0]}"},
    {BurnBatchNormConfig_type, "{'num_features':0,'epsilon':1e-05,'momentum':0.1}"},
    {BurnLayerNormConfig_type, "{'d_model':0,'epsilon':1e-05,'bias':true}"},
    {BurnGroupNormConfig_type, "{'num_groups':0,'num_channels':0,'epsilon':1e-05,'affine':true}"},
    {BurnInstanceNormConfig_type, "{'num_channels':0,'epsilon':1e-05,'affine':true}"},
    {BurnRmsNormConfig_type, "{'d_model':0,'epsilon':1e-05}"},
    {BurnLocalResponseNormConfig_type, "{'size':0,'alpha':0.0001,'beta':0.75,'k':1.0}"},
    {BurnMultiHeadAttentionConfig_type,
     "{'d_model':0,'n_heads':0,'dropout':0.1,'min_float':-10000.0,'quiet_softmax':false,'initializer':" KAIMING
     ",'key_bias':true,'value_bias':true,'query_bias':true,'output_bias':true}"},
    {BurnCrossAttentionConfig_type,
     "{'d_model':0,'d_context':0,'n_heads':0,'n_heads_kv':0,'d_head':0,'dropout':0.1,'min_float':-10000.0,"
     "'quiet_softmax':false}"},
    {BurnPositionWiseFeedForwardConfig_type,
     "{'d_model':0,'d_ff':0,'dropout':0.1,'initializer':" KAIMING ",'activation':'Gelu'}"},
    {BurnTransformerEncoderConfig_type, TRANSFORMER},
    {BurnTransformerDecoderConfig_type, TRANSFORMER},
    {BurnPositionalEncodingConfig_type, "{'d_model':0,'max_sequence_size':5000,'max_timescale':10000}"},
    {BurnRotaryEncodingConfig_type, "{'max_sequence_length':0,'d_model':0,'theta':10000.0}"},
    {BurnRnnConfig_type, RECURRENT ",'batch_first':true,'reverse':false,'clip':null,'hidden_activation':'Tanh'}"},
    {BurnBiRnnConfig_type, RECURRENT ",'batch_first':true,'clip':null,'hidden_activation':'Tanh'}"},
    {BurnGruConfig_type, RECURRENT ",'reset_after':true," GRU_ACTIVATIONS},
    {BurnBiGruConfig_type, RECURRENT ",'reset_after':true,'batch_first':true," GRU_ACTIVATIONS},
    {BurnLstmConfig_type, RECURRENT ",'batch_first':true,'reverse':false," LSTM_OPTIONS},
    {BurnBiLstmConfig_type, RECURRENT ",'batch_first':true," LSTM_OPTIONS},
    {BurnLeakyReluConfig_type, "{'negative_slope':0.01}"},
    {BurnPReluConfig_type, "{'num_parameters':1,'alpha':0.25}"},
    {BurnSwiGluConfig_type, "{'d_input':0,'d_output':0,'bias':false,'initializer':" KAIMING ",'layout':'Row'}"},
    {BurnCeluConfig_type, "{'alpha':1.0}"},
    {BurnEluConfig_type, "{'alpha':1.0}"},
    {BurnHardSigmoidConfig_type, "{'alpha':0.2,'beta':0.5}"},
    {BurnHardtanhConfig_type, "{'min_val':-1.0,'max_val':1.0}"},
    {BurnHardShrinkConfig_type, "{'lambda':0.5}"},
    {BurnSoftShrinkConfig_type, "{'lambda':0.5}"},
    {BurnShrinkConfig_type, "{'lambda':0.5,'bias':0.5}"},
    {BurnSoftplusConfig_type, "{'beta':1.0}"},
    {BurnThresholdedReluConfig_type, "{'alpha':1.0}"},
    {BurnThresholdConfig_type, "{'threshold':0.0,'value':0.0}"},
    {BurnRReluConfig_type, "{'lower':0.125,'upper':0.3333333333333333}"},
    {BurnCrossEntropyLossConfig_type, "{'smoothing':null,'logits':true}"},
    {BurnBinaryCrossEntropyLossConfig_type, "{'smoothing':null,'logits':false}"},
    {BurnHuberLossConfig_type, "{'delta':0.0}"},
    {BurnKLDivLossConfig_type, "{'log_target':false}"},
    {BurnPoissonNllLossConfig_type, "{'log_input':true,'full':false,'eps':1e-08}"},
    {BurnSmoothL1LossConfig_type, "{'beta':1.0}"},
    {BurnLpLossConfig_type, "{'p':0.0}"},
    {BurnCosineEmbeddingLossConfig_type, "{'margin':0.0,'reduction':'Mean'}"},
    {BurnGaussianNLLLossConfig_type, "{'eps':1e-06,'full':false}"},
    {BurnHingeEmbeddingLossConfig_type, "{'margin':1.0}"},
    {BurnMarginRankingLossConfig_type, "{'margin':0.0}"},
    {BurnMultiMarginLossConfig_type, "{'margin':1.0,'p':1}"},
    {BurnTripletMarginLossConfig_type, "{'margin':1.0,'p':2.0}"},
    {BurnCTCLossConfig_type, "{'blank':0,'zero_infinity':false}"},
    {BurnRNNTLossConfig_type, "{'blank':0,'logits':true}"}};

static void defaults_are_burns(void **state) {
  (void)state;
  assert_config_defaults(configs, sizeof configs / sizeof configs[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_are_burns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
