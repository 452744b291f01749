// Sends the bridge's whole sequence from a macOS executable, with as few other parts of anedvd as that takes: opens the framework that
// ANEDVD_ANE_FRAMEWORK names, runs y = a + a·b, and prints "bridge: sound" when every step answered what it should. Under machrun the framework
// is the stand-in, so calls from Mach-O code reach objc_msgSend with Apple's calling convention; on a Mac it is the real one.
#include <cstdio>
#include <cstring>

#include "ane/objc/inventory.h"
#include "ane/objc/objc_driver.h"
#include "base/half.h"

using namespace anedvd;

namespace {

constexpr const char* kProgram =
    "program(1.3)\n"
    "[buildInfo = dict<string, string>({{\"coremlc-version\", \"3505.4.1\"}})]\n"
    "{\n"
    "    func main<ios18>(tensor<fp16, [1, 4, 1, 32]> b, tensor<fp16, [1, 4, 1, 32]> a) {\n"
    "        tensor<fp16, [1, 4, 1, 32]> m = mul(x = a, y = b)[name = string(\"m\")];\n"
    "        tensor<fp16, [1, 4, 1, 32]> y = add(x = a, y = m)[name = string(\"y\")];\n"
    "    } -> (y);\n"
    "}\n";

bool failed(const char* step, const std::string& why) {
  std::printf("bridge: %s: %s\n", step, why.c_str());
  return false;
}

bool fill(Surface& surface, const TensorLayout& layout, float value) {
  auto memory = surface.lock(Surface::Access::kWrite);
  if (!memory) return failed("lock", words_of(memory.error()));
  for (int64_t c = 0; c < layout.channels; ++c)
    for (int64_t w = 0; w < layout.width; ++w) {
      const uint16_t half = float_to_half(value + float(c) + float(w) / 32);
      std::memcpy(memory->data() + c * layout.plane_stride + 2 * w, &half, 2);
    }
  return bool(surface.unlock(Surface::Access::kWrite));
}

bool is_right(Surface& surface, const TensorLayout& layout) {
  auto memory = surface.lock(Surface::Access::kRead);
  if (!memory) return failed("lock", words_of(memory.error()));
  for (int64_t c = 0; c < layout.channels; ++c)
    for (int64_t w = 0; w < layout.width; ++w) {
      const auto rounded = [](float value) { return half_to_float(float_to_half(value)); };
      const float a = rounded(2 + float(c) + float(w) / 32), b = rounded(-1 + float(c) + float(w) / 32);
      uint16_t half = 0;
      std::memcpy(&half, memory->data() + c * layout.plane_stride + 2 * w, 2);
      if (half_to_float(half) != rounded(a + rounded(a * b)))
        return failed("result", fmt::format("channel {}, column {}", c, w));
    }
  return bool(surface.unlock(Surface::Access::kRead));
}

bool run(Driver& driver) {
  auto staged = driver.stage(kProgram, WeightFile(), DictionaryContent::kDigest);
  if (!staged) return failed("stage", words_of(staged.error()));
  if (auto done = (*staged)->compile(); !done) return failed("compile", words_of(done.error()));
  auto loaded = (*staged)->load();
  if (!loaded) return failed("load", words_of(loaded.error()));
  const DeclaredTensor inputs[] = {{"b", 4, 32}, {"a", 4, 32}}, output{"y", 4, 32};
  auto layout = find_layout((*loaded)->attributes(), "main", inputs, {&output, 1});
  if (!layout) return failed("layout", layout.error().message);
  std::unique_ptr<Surface> surfaces[3];
  for (auto& surface : surfaces) {
    auto made = driver.make_surface(65536);
    if (!made) return failed("surface", words_of(made.error()));
    surface = std::move(*made);
  }
  const Binding in[] = {{layout->inputs[0].symbol, surfaces[0].get()}, {layout->inputs[1].symbol, surfaces[1].get()}};
  const Binding out{layout->outputs[0].symbol, surfaces[2].get()};
  if (auto done = (*loaded)->bind(in, {&out, 1}, layout->procedure); !done)
    return failed("bind", words_of(done.error()));
  if (!fill(*surfaces[0], layout->inputs[0], -1) || !fill(*surfaces[1], layout->inputs[1], 2)) return false;
  for (int i = 0; i < 3; ++i)
    if (auto done = (*loaded)->evaluate(); !done) return failed("evaluate", words_of(done.error()));
  return is_right(*surfaces[2], layout->outputs[0]);
}

}  // namespace

int main() {
  auto driver = objc::open_objc_driver();
  if (!driver) {
    failed("open", driver.error().message);
    return 3;
  }
  std::printf("%s", objc::inventory_table(objc::take_inventory()).c_str());
  if (!run(**driver)) return 1;
  std::printf("bridge: sound on %s\n", (*driver)->machine().c_str());
  return 0;
}
