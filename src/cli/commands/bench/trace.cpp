#include "cli/commands/bench/trace.h"

#include <nlohmann/json.hpp>

namespace anedvd {

std::string chrome_trace(const Trace& trace) {
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  for (int thread = 0; thread < trace.threads(); ++thread) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", thread},
                      {"args", {{"name", thread == 0 ? "caller" : "worker " + std::to_string(thread)}}}});
    for (const Trace::Event& event : trace.events(thread))
      events.push_back({{"name", event.name},
                        {"cat", event.kind},
                        {"ph", "X"},
                        {"ts", double(event.begin_ns) / 1e3},
                        {"dur", double(event.end_ns - event.begin_ns) / 1e3},
                        {"pid", 1},
                        {"tid", thread},
                        {"args", {{"columns", event.columns}}}});
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump(-1, ' ', false,
                                                                                  Json::error_handler_t::replace);
}

}  // namespace anedvd
