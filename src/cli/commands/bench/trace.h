// bench --trace: what the threads did, in the Chrome trace format, which chrome://tracing and Perfetto (ui.perfetto.dev) open.
#pragma once

#include <string>

#include "device/trace.h"

namespace anedvd {

// One JSON object: complete events ("ph": "X"), times in microseconds, by the "Trace Event Format" that Chromium's documents describe.
std::string chrome_trace(const Trace& trace);

}  // namespace anedvd
