// Whether this process may use AMX tiles.
#pragma once

namespace anedvd {

// Why the amx level cannot run here, in words; null: it can. The first call asks Linux for the tile registers, for all threads of the process: a
// kernel gives them only to those who ask, and hypervisors and containers may refuse although the processor has them.
const char* why_no_amx();

}  // namespace anedvd
