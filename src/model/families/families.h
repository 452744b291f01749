// The families, one function a file of this folder.
#pragma once

#include "model/family.h"

namespace anedvd {

const Family& llama_family();
const Family& mistral_family();
const Family& mixtral_family();
const Family& qwen2_family();
const Family& qwen3_family();
const Family& qwen2moe_family();
const Family& qwen3moe_family();
const Family& gemma_family();
const Family& gemma2_family();
const Family& gemma3_family();
const Family& gemma4_family();
const Family& phi3_family();
const Family& smollm3_family();
const Family& granite_family();
const Family& olmo2_family();
const Family& gpt_oss_family();
const Family& lfm2_family();

}  // namespace anedvd
