#include "report.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace standin {

void complain(const char* word, const std::string& what) {
  std::fprintf(stderr, "standin: %s: %s\n", word, what.c_str());
  std::fflush(stderr);
  std::abort();
}

std::string text(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

}  // namespace standin
