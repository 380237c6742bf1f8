/* fuzz_config.c - JSON into a config of every kind of field: what was read is written and read the same; a refusal
 * changes nothing.
 *
 * Input: the JSON. */
#include "fuzz_target.h"

#include <burn/config.h>
#include <burn/nn.h>

#define INNER_CONFIG(REQ, OPT)                       \
  REQ(BurnSize, width, "required")                   \
  OPT(BurnOptionF64, decay, BURN_ABSENT, "optional") \
  OPT(BurnI64, shift, -3, "signed")
BURN_CONFIG(InnerConfig, INNER_CONFIG);

#define OUTER_CONFIG(REQ, OPT)                    \
  REQ(InnerConfig, inner, "a config in a config") \
  REQ(BurnSize2, kernel, "two sizes")             \
  OPT(BurnF64, rate, 0.5, "a number")             \
  OPT(BurnBool, bias, true, "a flag")             \
  OPT(BurnText, name, {"name"}, "a text")         \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "a variant")
BURN_CONFIG(OuterConfig, OUTER_CONFIG);

static OuterConfig fresh(void) { return OuterConfig_defaults(InnerConfig_defaults(5), (BurnSize2){{3, 4}}); }

/* The text of what was read gives the same text again. */
static void there_and_back(OuterConfig *config) {
  OuterConfig again = fresh();
  char *text = burn_config_text(burn_config(OuterConfig, config));
  FUZZ_REQUIRE(text, "what was read cannot be written");
  FUZZ_REQUIRE(fuzz_ok(burn_config_parse(burn_config(OuterConfig, &again), text)),
               "what was written cannot be read: %s", text);
  char *second = burn_config_text(burn_config(OuterConfig, &again));
  FUZZ_REQUIRE(second && strcmp(text, second) == 0, "a config changes when it is written and read: %s", text);
  free(second);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const FuzzInput input = {bytes, count};
  char *json = fuzz_text(input);
  OuterConfig config, before;
  memset(&config, 0, sizeof config); /* padding, too */
  config = fresh();
  memcpy(&before, &config, sizeof before);
  const bool parsed = fuzz_ok(burn_config_parse(burn_config(OuterConfig, &config), json));
  if (parsed)
    there_and_back(&config);
  else
    FUZZ_REQUIRE(memcmp(&before, &config, sizeof before) == 0, "a refused config was changed");
  fuzz_scratch_clear();
  fuzz_file_write("config.json", input);
  OuterConfig loaded = fresh();
  if (fuzz_ok(burn_config_load(burn_config(OuterConfig, &loaded), "config.json"))) {
    FUZZ_REQUIRE(fuzz_ok(burn_config_save(burn_config(OuterConfig, &loaded), "config.json")),
                 "what was read cannot be saved");
    FUZZ_REQUIRE(fuzz_ok(burn_config_load(burn_config(OuterConfig, &loaded), "config.json")),
                 "what was saved cannot be read");
  }
  free(json);
  return 0;
}
