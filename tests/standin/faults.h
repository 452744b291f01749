// Failures on order. Tests ask for them through exported functions; ANEDVD_STANDIN_FAULTS asks for them at start:
//
//   METHOD=DOMAIN,CODE,STATUS,TIMES,TEXT|…      load=com.apple.appleneuralengine,54,0x5,3,Program load failed (transient; retry)
//   METHOD=raise,TIMES     METHOD=stall,MILLISECONDS     hide=_ANERequest
//   spoil=wrong,TIMES      spoil=infinite,TIMES          evaluations that say yes, with such results
//
// METHOD is compile, load, evaluate or unload; e5_compile, e5_load or e5_evaluate of the other route, whose functions return CODE. STATUS 0 is none.
#pragma once

#include <optional>
#include <string>

#include "backend.h"

namespace standin {

// What was ordered for the next call of `method`, if anything; stalls and raises happen in here.
std::optional<Failure> next_fault(const std::string& method);

// What was ordered for the results of the next evaluation that succeeds.
enum class Spoil { kNone, kWrong, kInfinite };
Spoil next_spoil();

void order_faults(const std::string& words);
void order_faults_of_environment();
void cancel_faults();

}  // namespace standin
