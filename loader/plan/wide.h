#pragma once
// A signed 128-bit integer, for products of 64-bit integers, because plans use no doubles. Products
// of two unsigned 64-bit integers may be too large.

namespace robustrun::loader {

__extension__ using Wide = __int128;

}  // namespace robustrun::loader
