// boundary.hpp - what lies between C++ and the host: failures, and exceptions that stay inside.
#ifndef BACKEND_BOUNDARY_HPP
#define BACKEND_BOUNDARY_HPP

#include <burn/plugin/plugin.h>

#include <new>
#include <sstream>
#include <string>

namespace backend {

// Why something did not work: thrown by fail, it becomes a status when it leaves the plugin.
struct Failure {
  uint32_t code;
  std::string message;
};

// Throws a failure with a code BURN_STATUS_* and a message put together from texts and values.
template <class... Parts>
[[noreturn]] void fail(uint32_t code, const Parts &...parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Failure{code, message.str()};
}

// The host keeps the text, and reads the file's name during this call only.
inline BurnStatus status_of(const BurnHost *host, const char *name, uint32_t code, const char *message) {
  return host->annotate((host->fail)(code, __FILE__, __LINE__, message), name);
}

// Runs the body of a function that returns a status. What it throws becomes that status, with `name` in front.
template <class Body>
BurnStatus guard(const BurnHost *host, const char *name, Body body) noexcept {
  try {
    body();
    return BURN_OK;
  } catch (const Failure &failure) {
    return status_of(host, name, failure.code, failure.message.c_str());
  } catch (const std::bad_alloc &) {
    return status_of(host, name, BURN_STATUS_OUT_OF_MEMORY, "no memory");
  } catch (const std::exception &exception) {
    return status_of(host, name, BURN_STATUS_INTERNAL, exception.what());
  } catch (...) {
    return status_of(host, name, BURN_STATUS_INTERNAL, "an exception of an unknown type");
  }
}

}  // namespace backend

#endif
