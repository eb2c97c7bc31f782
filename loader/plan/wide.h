#pragma once
// A number in which products of two signed 64-bit numbers fit, but not all products of two unsigned
// ones: plans use no doubles.

namespace robustrun::loader {

__extension__ using Wide = __int128;

}  // namespace robustrun::loader
