/* fuzz_settings.c - burn.json of the working directory and of the user: which stack they choose, what is told of them,
 * and a device.
 *
 * Input: a byte, the length of the buffer for the choice; then the project's file<|>the user's. */
#include "fuzz_target.h"

#include <burn/plugins.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_files(FuzzInput *input) {
  FUZZ_REQUIRE(mkdir("config", 0755) == 0 && mkdir("config/burn", 0755) == 0, "no folder");
  const char *const names[] = {"burn.json", "config/burn/burn.json"};
  for (size_t i = 0; i < 2; i++) {
    const FuzzInput part = fuzz_part(input);
    char *text = part.left ? fuzz_text(part) : NULL; /* without names of files elsewhere */
    if (text) fuzz_file_write(names[i], (FuzzInput){(const uint8_t *)text, part.left});
    free(text);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  const size_t room = fuzz_byte(&input);
  char here[512], config[600], *choice = malloc(room + 1);
  const char *source = NULL;
  BurnSettingsInfo files[3];
  fuzz_scratch_clear();
  write_files(&input);
  FUZZ_REQUIRE(choice, "no memory");
  snprintf(config, sizeof config, "%s/config", getcwd(here, sizeof here) ? here : "");
  FUZZ_REQUIRE(setenv("XDG_CONFIG_HOME", config, 1) == 0 && unsetenv("BURN_BACKEND") == 0, "no environment");
  FUZZ_REQUIRE(burn_settings_files(files, 3) <= 3, "there are three files");
  (void)burn_settings_files(NULL, 0);
  if (fuzz_ok(burn_stack_choice(NULL, choice, room, &source))) {
    FUZZ_REQUIRE(memchr(choice, '\0', room) && source, "a choice beyond its buffer, or by nobody");
  }
  BurnDevice *device = burn_device_open(NULL);
  fuzz_use(burn_zeros(device, BURN_SHAPE(2, 2), BURN_DTYPE_DEFAULT));
  burn_device_close(device);
  free(choice);
  return 0;
}
