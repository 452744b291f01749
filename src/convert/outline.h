// A GGUF file to be: its settings, and for each tensor where its numbers come from.
//
//   GGUF file ──gguf_outline──┐
//   HF folder ──hf_outline────┴──▶ Outline ──write_gguf (with a recipe)──▶ GGUF file
//
// Borrows from the source, which must live as long.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "convert/recipe.h"
#include "formats/gguf_writer.h"
#include "formats/tensor_source.h"

namespace anedvd {

// Rows of a stored matrix, in the order in which they are to be written.
struct RowPart {
  const TensorView* tensor = nullptr;
  int64_t first_row = 0, rows = 0;
  int heads =
      0;  // not 0: half-split rotation pairs (i, i + d/2) of each of so many heads become adjacent ones (2i, 2i + 1)

  // The stored row that is written as number `row` of this part.
  int64_t stored_row(int64_t row) const;
};

struct OutTensor {
  std::string name;
  Shape shape;
  DType kept = DType::kF32;    // the type if the recipe leaves the tensor alone
  std::vector<RowPart> parts;  // one after another; empty:
  std::vector<float> values;   // the numbers themselves (vectors only)
};

struct Outline {
  GgufPairs pairs;  // all but general.file_type and general.quantization_version
  std::vector<OutTensor> tensors;
  RecipeModel model;
};

// Everything as the file has it, save what a recipe decides and what splits a file in parts.
Result<Outline> gguf_outline(const TensorSource& source);

// Names, row orders, settings and vocabulary that GGUF has for a folder's architecture. kUnsupported names what cannot be converted.
Result<Outline> hf_outline(const TensorSource& source);

}  // namespace anedvd
