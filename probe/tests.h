#pragma once
// The tests of the probe. `robustrun-probe NAME` runs one of them and prints one result (result.h)
// on its standard output. Before anything that may take long it prints a line "step: …" on standard
// error, so that its caller knows where it hung if it must be killed.
//
// One process per test, because a CUDA error ends all use of the GPU in its process. The order
// matters: later tests rely on what earlier ones have tested.

#include <array>

namespace robustrun::probe {

inline constexpr const char* kProgram = "robustrun-probe";

inline constexpr std::array kTests = {
    "copy",  // memory bandwidth
    "gemm",  // throughput of matrix multiplications
    "repeat",  // the same multiplication many times; all results must be equal, bit for bit
    "all-to-all",  // NCCL: every GPU to every other one, verified
    "neighbours",  // NCCL: all-gather of each GPU with the next, verified
};

}  // namespace robustrun::probe
