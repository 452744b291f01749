#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace anedvd {

tl::unexpected<Error> fail_in(std::string_view where, Error error) {
  error.message = fmt::format("{}: {}", where, error.message);
  return tl::unexpected<Error>(std::move(error));
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "anedvd: internal error at %s:%d: (%s) %s; please report this\n", file, line, condition,
               message.c_str());
  std::abort();
}

}  // namespace anedvd
