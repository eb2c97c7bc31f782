#pragma once
// The tests of the probe. `robustrun-probe NAME` runs one test and prints its result (result.h) on
// standard output. Before each step that may take long, it prints a line "step: …" on standard
// error. If the program hangs, its caller knows the step.
//
// Each test has a process of its own, because a process cannot use a GPU any more after a CUDA
// error. The order matters: later tests rely on functions that earlier tests have checked.

#include <array>

namespace robustrun::probe {

inline constexpr const char* kProgram = "robustrun-probe";

inline constexpr std::array kTests = {
    "copy",  // memory bandwidth
    "gemm",  // throughput of matrix multiplications
    "repeat",  // the same multiplication many times; all results must be equal, bit for bit
    "all-to-all",  // NCCL: every GPU sends to every other GPU; the data is verified
    "neighbours",  // NCCL: all-gather of each GPU with the next one; the data is verified
};

}  // namespace robustrun::probe
