#pragma once
// A small state to save, different for every step, which a test's own process and its children save
// alike.

#include <string>
#include <vector>

#include "base/core/clock.h"
#include "checkpoint/memory/staging.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/retention.h"
#include "checkpoint/store/store.h"

namespace robustrun::test {

struct SampleState {
  std::vector<std::string> buffers;
  checkpoint::PartContents contents;

  // `rows` of 1,000 F32, a vector, a scalar, an empty tensor and a type that safetensors lacks.
  explicit SampleState(std::uint64_t step, std::uint64_t rows = 3) {
    base::Rng rng(step);
    add(rng, "layer.weight", "F32", {rows, 1000}, rows * 4000);
    add(rng, "layer.bias", "BF16", {17}, 34);
    add(rng, "step", "I64", {}, 8);
    add(rng, "empty", "F32", {0, 4}, 0);
    add(rng, "packed \"4 bit\"", "I4", {9}, 5);
    for (const std::string& buffer : buffers) contents.sources.emplace_back(buffer);
    contents.states = {{0, "loader", "epoch 3, batch " + std::to_string(step)}};
  }
  SampleState(const SampleState&) = delete;
  SampleState& operator=(const SampleState&) = delete;

 private:
  void add(base::Rng& rng, std::string name, std::string dtype, std::vector<std::uint64_t> shape,
           std::uint64_t bytes) {
    std::string& buffer = buffers.emplace_back(bytes, '\0');
    for (char& byte : buffer) byte = static_cast<char>(rng.next());
    checkpoint::Shard shard;
    shard.name = std::move(name);
    shard.dtype = std::move(dtype);
    shard.global_shape = shape;
    shard.offsets.assign(shape.size(), 0);
    shard.shape = std::move(shape);
    shard.bytes = bytes;
    contents.shards.push_back(std::move(shard));
  }
};

// A copy of it, as the part of the only writer.
inline checkpoint::StageOrder sample_order(std::uint64_t step,
                                           std::vector<std::string> directories) {
  checkpoint::StageOrder order;
  order.attempt = {step, 1, "abc" + std::to_string(step)};
  order.layout = {1, {{"dp", 1}}};
  order.directories = std::move(directories);
  order.writers = {"n0"};
  order.writer = "n0";
  return order;
}

}  // namespace robustrun::test
