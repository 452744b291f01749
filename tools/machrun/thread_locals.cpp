#include "thread_locals.h"

#include <cstdlib>
#include <cstring>

extern "C" int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);
extern "C" void* __dso_handle;

namespace machrun {
namespace {

constexpr uint32_t kInitialised = 0x11, kZeroed = 0x12;  // section types: S_THREAD_LOCAL_REGULAR, …_ZEROFILL

// Of the one image, set before its first thread starts.
const void* initial_values;
size_t initial_bytes, all_bytes;

void at_thread_end(void (*run)(void*), void* object) { __cxa_thread_atexit_impl(run, object, &__dso_handle); }

}  // namespace

void use_thread_locals_of(const Image& image) {
  uint64_t begin = 0, end = 0;
  for (const Section& section : image.sections()) {
    if (section.type != kInitialised && section.type != kZeroed) continue;
    if (begin == 0) begin = section.address;
    if (section.type == kInitialised) initial_bytes = section.bytes;
    end = section.address + section.bytes;
  }
  initial_values = reinterpret_cast<const void*>(begin);
  all_bytes = end - begin;
}

extern "C" void* machrun_thread_local(const uint64_t* descriptor) {
  static thread_local char* block = nullptr;  // lives as long as the process: threads of a test are few
  if (block == nullptr) {
    block = static_cast<char*>(std::aligned_alloc(64, (all_bytes + 127) / 64 * 64));
    std::memset(block, 0, all_bytes);
    std::memcpy(block, initial_values, initial_bytes);
  }
  return block + descriptor[2];
}

asm(R"(
  .text
  .globl machrun_tlv
  .type machrun_tlv, %function
machrun_tlv:
  stp x29, x30, [sp, #-16]!
  sub sp, sp, #640
  stp x1, x2, [sp, #0]
  stp x3, x4, [sp, #16]
  stp x5, x6, [sp, #32]
  stp x7, x8, [sp, #48]
  stp x9, x10, [sp, #64]
  stp x11, x12, [sp, #80]
  stp x13, x14, [sp, #96]
  stp x15, x17, [sp, #112]
  stp q0, q1, [sp, #128]
  stp q2, q3, [sp, #160]
  stp q4, q5, [sp, #192]
  stp q6, q7, [sp, #224]
  stp q8, q9, [sp, #256]
  stp q10, q11, [sp, #288]
  stp q12, q13, [sp, #320]
  stp q14, q15, [sp, #352]
  stp q16, q17, [sp, #384]
  stp q18, q19, [sp, #416]
  stp q20, q21, [sp, #448]
  stp q22, q23, [sp, #480]
  stp q24, q25, [sp, #512]
  stp q26, q27, [sp, #544]
  stp q28, q29, [sp, #576]
  stp q30, q31, [sp, #608]
  bl machrun_thread_local
  ldp q30, q31, [sp, #608]
  ldp q28, q29, [sp, #576]
  ldp q26, q27, [sp, #544]
  ldp q24, q25, [sp, #512]
  ldp q22, q23, [sp, #480]
  ldp q20, q21, [sp, #448]
  ldp q18, q19, [sp, #416]
  ldp q16, q17, [sp, #384]
  ldp q14, q15, [sp, #352]
  ldp q12, q13, [sp, #320]
  ldp q10, q11, [sp, #288]
  ldp q8, q9, [sp, #256]
  ldp q6, q7, [sp, #224]
  ldp q4, q5, [sp, #192]
  ldp q2, q3, [sp, #160]
  ldp q0, q1, [sp, #128]
  ldp x15, x17, [sp, #112]
  ldp x13, x14, [sp, #96]
  ldp x11, x12, [sp, #80]
  ldp x9, x10, [sp, #64]
  ldp x7, x8, [sp, #48]
  ldp x5, x6, [sp, #32]
  ldp x3, x4, [sp, #16]
  ldp x1, x2, [sp, #0]
  add sp, sp, #640
  ldp x29, x30, [sp], #16
  ret
)");
extern "C" void machrun_tlv();

void add_thread_locals(Table& table) {
  put(table, "__tlv_bootstrap", machrun_tlv);
  put(table, "__tlv_atexit", at_thread_end);
}

}  // namespace machrun
