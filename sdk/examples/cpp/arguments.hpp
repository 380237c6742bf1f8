/* arguments.hpp - the command line of the examples in C++, and what those in C
 * share with them. */
#ifndef BURN_EXAMPLES_CPP_ARGUMENTS_HPP
#define BURN_EXAMPLES_CPP_ARGUMENTS_HPP

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "../common/program.h"

/* program_begin, and the usage for --help: false if that is all that is wanted.
 * Throws a text if there is another option. */
inline bool begin_program(int argc, char **argv, const char *usage) {
  program_begin();
  for (int i = 1; i < argc; i++) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      std::printf("usage: %s\n", usage);
      return false;
    }
    if (argument.compare(0, 2, "--") == 0)
      throw std::runtime_error("there is no option '" + argument +
                               "'; usage: " + usage);
  }
  return true;
}

/* The number of `what` ("steps"), 1 or more; throws a text that says what is
 * wrong. */
inline std::size_t count_of(const std::string &what, const std::string &text) {
  std::size_t count = 0;
  const char *const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, count);
  if (result.ec == std::errc::result_out_of_range)
    throw std::runtime_error(what + ": " + text + " is too large");
  if (result.ec != std::errc() || result.ptr != end || count == 0)
    throw std::runtime_error(
        what + ": an integer of at least 1 expected, not '" + text + "'");
  return count;
}

#endif
