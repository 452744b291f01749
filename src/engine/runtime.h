// A model, loaded and ready to run.
//
//   file → spec → plan → device programs (weights packed) → sequences over one KV cache
//
// Not thread-safe: one thread drives a Runtime and its sequences. The worker threads are its own.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/compile.h"
#include "formats/tensor_source.h"
#include "model/spec.h"
#include "text/tokenizer.h"

namespace anedvd {

struct RuntimeOptions {
  int threads = 0;     // 0: the physical cores this process may use
  int max_seq = 0;     // tokens a sequence may hold; 0: min(model, 4096)
  int chunk = 0;       // columns in one prefill step; 0: the device's own choice
  bool exact = false;  // fp32 activations and plain loops: the reference that others are checked against
  bool rope_hf = false, rope_adjacent = false;  // overrides of the row order of q and k
  DeviceCompiler device = {};                   // empty: the CPU's
  std::optional<DType> quant = {};  // matrices of plain floats are packed as this (model/quantise_at_load.h)
};

struct RuntimeInfo {
  std::string device;  // "cpu", "ane", "sim"
  std::string simd;    // "AVX-512 VNNI"
  int threads = 0;
  int max_seq = 0;
  uint64_t weight_bytes = 0;    // packed weights in memory
  uint64_t weights = 0;         // numbers in the matrices that every token meets: without experts and the head
  int quantised_at_load = 0;    // matrices, by RuntimeOptions::quant
  uint64_t kv_token_bytes = 0;  // cache for one token
  std::string arithmetic;       // names how it computes: equal for runtimes whose keys and values are exchangeable
  double load_seconds = 0;
};

// Tokens of one conversation and their keys and values.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual int size() const = 0;
  // Drops everything from position `length` on.
  virtual void truncate(int length) = 0;
};

class Runtime {
 public:
  // Errors name the file: kNotFound, kBadFile, kUnsupported, kNoMemory, kUsage (an option that does not fit the model).
  static Result<std::unique_ptr<Runtime>> load(const std::filesystem::path& path, const RuntimeOptions& options);

  virtual ~Runtime() = default;
  virtual const TensorSource& source() const = 0;
  virtual const ModelSpec& spec() const = 0;
  virtual const RuntimeInfo& info() const = 0;

  // Built at the first call. Error: the file's tokenizer is one that anedvd lacks.
  virtual Result<const Tokenizer*> tokenizer() = 0;

  // The model on its device and the layout of its cache: for whoever makes steps of several sequences.
  virtual Executable& executable() = 0;
  virtual const KvLayout& layout() const = 0;

  virtual std::unique_ptr<Sequence> new_sequence() = 0;

  // Appends tokens in steps of `chunk` columns. Returns the logits [vocab] of the last one, valid until the next call.
  // `cancelled` (may be empty) is asked before each step. Errors: kUsage (id outside the vocabulary, sequence full), kCancelled.
  virtual Result<std::span<const float>> append(Sequence& sequence, std::span<const Token> tokens,
                                                const std::function<bool()>& cancelled = {}) = 0;

  // The same, and `sink(index, logits)` for every token appended.
  virtual Result<> append_all_logits(Sequence& sequence, std::span<const Token> tokens,
                                     const std::function<void(int, std::span<const float>)>& sink) = 0;
};

// Tokens that a sequence may hold, by RuntimeOptions::max_seq. kUsage: more than the model was trained for.
Result<int> context_of(const ModelSpec& spec, int max_seq);

// Reads the spec alone: what `info` shows without loading weights.
Result<ModelSpec> read_model_spec(const TensorSource& source);

}  // namespace anedvd
