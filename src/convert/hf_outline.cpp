#include "base/words.h"
#include "convert/hf_parts.h"

namespace anedvd {

Result<Outline> hf_outline(const TensorSource& source) {
  ANEDVD_TRY(const Family* family, find_family(source));
  const Target* target = find_target(family->name);
  if (target == nullptr)
    return fail(ErrorCode::kUnsupported, "{}: {} folders cannot be converted; these can: {}",
                visible(source.path().string()), family->name, target_names());
  ANEDVD_TRY(const ModelSpec spec, family->read(source));
  const HfModel model{source, *family, spec, *target};
  Outline outline;
  outline.model = {int(spec.layers.size()), spec.layers[0].moe ? spec.layers[0].moe->experts : 0, spec.tied_head};
  ANEDVD_TRY_VOID(add_settings(model, outline));
  ANEDVD_TRY_VOID(add_vocabulary(model, outline.pairs));
  ANEDVD_TRY_VOID(add_tensors(model, outline));
  ANEDVD_TRY_VOID(check_outline(model, outline));
  return outline;
}

}  // namespace anedvd
