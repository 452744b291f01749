// How the stand-in says that it was misused: one line "standin: WORD: what", then the process ends. Tests look for WORD.
#pragma once

#include <string>

namespace standin {

[[noreturn]] void complain(const char* word, const std::string& what);

// "LABEL of CLASS", for messages about objects.
std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace standin
