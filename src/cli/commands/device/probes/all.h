// The probes, by what they are about. Each answers an object with "ok": whether the chip is as expected; everything else is what was found.
#pragma once

#include "cli/commands/device/probes/ask.h"

namespace anedvd::probes {

using Answer = Result<ProbeJson>;

// Programs, their text, their files and their surfaces.
Answer framework(const ProbedMachine& machine);          // P-01
Answer row_strides(const ProbedMachine& machine);        // P-02
Answer dialects(const ProbedMachine& machine);           // P-03
Answer surface_sizes(const ProbedMachine& machine);      // P-05
Answer program_files(const ProbedMachine& machine);      // P-06
Answer weight_dictionary(const ProbedMachine& machine);  // P-07
Answer symbol_order(const ProbedMachine& machine);       // P-08
Answer unequal_surfaces(const ProbedMachine& machine);   // P-09
Answer weight_tensors(const ProbedMachine& machine);     // P-10
Answer out_channels(const ProbedMachine& machine);       // P-11
Answer scalar_slot(const ProbedMachine& machine);        // P-19

// Operations.
Answer joins_and_slices(const ProbedMachine& machine);  // P-12
Answer matmul(const ProbedMachine& machine);            // P-14
Answer elementwise(const ProbedMachine& machine);       // P-15
Answer roots_and_sums(const ProbedMachine& machine);    // P-16
Answer softmax(const ProbedMachine& machine);           // P-17
Answer norms(const ProbedMachine& machine);             // P-18
Answer long_sums(const ProbedMachine& machine);         // P-40
Answer poison(const ProbedMachine& machine);            // P-44

// Weights in fewer bits.
Answer affine_weights(const ProbedMachine& machine);    // P-20
Answer row_weights(const ProbedMachine& machine);       // P-21
Answer table_weights(const ProbedMachine& machine);     // P-22
Answer sparse_weights(const ProbedMachine& machine);    // P-23
Answer streaming(const ProbedMachine& machine);         // P-24
Answer other_weights(const ProbedMachine& machine);     // P-25
Answer int8_activations(const ProbedMachine& machine);  // P-26

// Arithmetic.
Answer planar_values(const ProbedMachine& machine);      // P-04
Answer activations(const ProbedMachine& machine);        // P-13
Answer small_values(const ProbedMachine& machine);       // P-38
Answer activation_tables(const ProbedMachine& machine);  // P-39
Answer determinism(const ProbedMachine& machine);        // P-41

// Time.
Answer launch(const ProbedMachine& machine);       // P-27
Answer bandwidth(const ProbedMachine& machine);    // P-28
Answer gather_cost(const ProbedMachine& machine);  // P-29
Answer long_run(const ProbedMachine& machine);     // P-42

// The service behind the framework.
Answer budgets(const ProbedMachine& machine);      // P-30
Answer caches(const ProbedMachine& machine);       // P-32
Answer reload(const ProbedMachine& machine);       // P-33
Answer procedures(const ProbedMachine& machine);   // P-34
Answer concurrency(const ProbedMachine& machine);  // P-35
Answer other_route(const ProbedMachine& machine);  // P-37
Answer recovery(const ProbedMachine& machine);     // P-43
Answer idle(const ProbedMachine& machine);         // P-47

}  // namespace anedvd::probes
