// MIL text of unknown origin: parsed, typed, checked against every profile and, if it is small, evaluated.
#include <cstdint>
#include <cstring>
#include <vector>

#include "ane/sim/graph.h"
#include "ane/sim/interpreter.h"
#include "ane/sim/rules.h"

using namespace anedvd;
using namespace anedvd::sim;

namespace {

constexpr int64_t kSmall = 1 << 16;  // elements of a tensor: more would only be slow

// One weight file for every path: 16 records' worth of bytes behind a valid first header.
std::span<const std::byte> weight_file() {
  static const std::vector<std::byte> file = [] {
    std::vector<std::byte> bytes(4096, std::byte(0x3c));
    const auto put = [&](size_t at, uint64_t value, size_t size) { std::memcpy(bytes.data() + at, &value, size); };
    put(0, 1, 4);
    put(4, 2, 4);
    put(64, 0xDEADBEEF, 4);
    put(68, 1, 4);
    put(72, 32, 8);
    put(80, 128, 8);
    put(88, 0, 8);
    return bytes;
  }();
  return file;
}

bool is_small(const Graph& graph) {
  for (const GraphValue& value : graph.values)
    if (value.elements() > kSmall) return false;
  return graph.nodes.size() < 64;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto text = parse_mil({reinterpret_cast<const char*>(data), size});
  if (!text) return 0;
  static SpinPool pool(1);
  const FileFinder files = [](const std::string&) -> Result<std::span<const std::byte>> { return weight_file(); };
  for (const std::string_view name : profile_names()) {
    const Profile profile = *profile_named(name);
    std::vector<Graph> graphs;
    for (const MilFunctionText& function : text->functions) {
      auto graph = build_graph(function, profile, files);
      if (!graph) break;
      graphs.push_back(std::move(*graph));
    }
    if (graphs.size() != text->functions.size()) continue;
    bool is_refused = false;
    for (const CompileRule& rule : compile_rules()) is_refused = is_refused || rule.check({*text, graphs}, profile);
    (void)attributes_of(graphs, profile);
    if (is_refused) continue;
    for (Graph& graph : graphs) {
      if (!is_small(graph)) continue;
      auto interpreter = Interpreter::make(std::move(graph), profile);
      if (!interpreter || (*interpreter)->fails_at_run()) continue;
      std::vector<Columns> inputs;
      for (const int id : (*interpreter)->graph().inputs) {
        const GraphValue& value = (*interpreter)->graph().values[size_t(id)];
        inputs.push_back({value.channels(), value.width(), std::vector<float>(size_t(value.elements()), 0.5f)});
      }
      (void)(*interpreter)->evaluate(std::move(inputs), pool);
    }
  }
  return 0;
}
