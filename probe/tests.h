#pragma once
// The tests of the probe: `robustrun-probe NAME` does one of them and prints one result
// (result.h) on its standard output, and on standard error a line "step: …" before whatever may
// take long, so that whoever has to kill it knows where it was.
//
// One process per test, because an error of CUDA ends all use of the GPU in its process. In this
// order: what a later one needs was tested before.

#include <array>

namespace robustrun::probe {

inline constexpr const char* kProgram = "robustrun-probe";

inline constexpr std::array kTests = {
    "copy",         // memory bandwidth
    "gemm",         // throughput of matrix multiplications
    "repeat",       // the same multiplication many times, to the bit
    "all-to-all",   // NCCL: every GPU to every other one, with verification
    "neighbours",   // NCCL: all-gather of each GPU with the next, with verification
};

}  // namespace robustrun::probe
