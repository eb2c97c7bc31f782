#pragma once
// A number in which products of two 64-bit numbers fit: plans use no doubles.

namespace robustrun::loader {

__extension__ using Wide = __int128;

}  // namespace robustrun::loader
