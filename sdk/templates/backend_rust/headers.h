/* headers.h - what bindgen translates for this backend: the headers of the plugin ABI that it uses. */
#include <burn/plugin/options.h>
#include <burn/plugin/plugin.h>
#include <burn/plugin/services.h>
