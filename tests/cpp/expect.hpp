/* expect.hpp - what the C++ tests check with: every check that fails says what it expected, and main returns failures
 * != 0. */
#ifndef BURN_TESTS_EXPECT_HPP
#define BURN_TESTS_EXPECT_HPP

#include <cstring>
#include <iostream>

static int failures = 0;

static inline void expect(bool condition, const char *what, const char *file, int line) {
  if (condition) return;
  const char *slash = std::strrchr(file, '/');
  std::cerr << (slash ? slash + 1 : file) << ":" << line << ": expected " << what << "\n";
  failures++;
}
#define EXPECT(condition) expect(condition, #condition, __FILE__, __LINE__)

#endif
