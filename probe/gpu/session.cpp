#include "probe/gpu/session.h"

#include <fmt/core.h>
#include <sched.h>

#include <cstdio>

#include "probe/limits.h"

namespace robustrun::probe {

base::Status succeed(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  return base::fail(
      base::Errc::kUnavailable,
      fmt::format("cannot {}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error)));
}

void Session::step(const std::string& what) {
  step_ = what;
  fmt::print(stderr, "step: {}\n", what);
}

base::Status Session::open() {
  step("finding the GPUs");
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorInsufficientDriver) {  // CUDA only reports that the driver is too old
    return base::fail(base::Errc::kUnavailable,
                      "cannot count the GPUs: there is no NVIDIA driver here, or one that is older "
                      "than this program's CUDA");
  }
  RR_TRY(succeed(counted, "count the GPUs"));
  for (int i = 0; i < count && gpus_.size() < kGpusMax; ++i) {
    cudaDeviceProp properties{};
    const bool known = cudaGetDeviceProperties(&properties, i) == cudaSuccess;
    facts_.models.emplace_back(known ? &properties.name[0] : "?");
    gpus_.push_back({.index = i, .major = properties.major});
  }
  for (Gpu& gpu : gpus_) {
    step(fmt::format("starting GPU {}", gpu.index));
    on(gpu, [](Gpu& own) -> base::Status {
      RR_TRY(succeed(cudaStreamCreate(&own.stream), "make a stream"));
      RR_TRY(succeed(cudaEventCreate(&own.begin), "make an event"));
      return succeed(cudaEventCreate(&own.end), "make an event");
    });
  }
  return {};
}

std::vector<Gpu*> Session::working() {
  std::vector<Gpu*> some;
  for (Gpu& gpu : gpus_) {
    if (!gpu.failed) some.push_back(&gpu);
  }
  return some;
}

bool Session::all_have(int major) const {
  for (const Gpu& gpu : gpus_) {
    if (gpu.major < major) return false;
  }
  return true;
}

void Session::each(const Work& work) {
  for (Gpu* const gpu : working()) on(*gpu, work);
}

void Session::on(Gpu& gpu, const Work& work) {
  base::Status done = succeed(cudaSetDevice(gpu.index), "select it");
  if (done) done = work(gpu);
  if (!done) fail(gpu, done.error().what);
}

void Session::fail(Gpu& gpu, const std::string& why) {
  gpu.failed = true;
  facts_.faults.push_back(fmt::format("GPU {} ({}): {}", gpu.index, step_, why));
}

std::vector<void*> Session::allocate(std::size_t bytes) {
  step(fmt::format("taking {} MiB of each GPU's memory", bytes >> 20));
  std::vector<void*> memory(size());
  each([&](Gpu& gpu) {
    return succeed(cudaMalloc(&memory[static_cast<std::size_t>(gpu.index)], bytes), "take memory");
  });
  return memory;
}

// cudaStreamSynchronize would wait for ever for a hanging GPU, and not tell which one it is.
void Session::finish() {
  const base::Nanos end = clock_.now() + kWaitMax;
  each([&](const Gpu& gpu) -> base::Status {
    cudaError_t state = cudaStreamQuery(gpu.stream);
    while (state == cudaErrorNotReady && clock_.now() < end) {
      ::sched_yield();
      state = cudaStreamQuery(gpu.stream);
    }
    if (state != cudaErrorNotReady) return succeed(state, "finish its work");
    return base::fail(base::Errc::kTimeout,
                      fmt::format("it did not finish its work within {} s", kWaitMax.count()));
  });
}

base::Result<std::vector<double>> Session::time(const std::string& what, const Launch& launch) {
  step(fmt::format("{} on {} GPUs", what, working().size()));
  RR_TRY(launch());
  finish();
  std::vector<double> seconds(size());
  double launches = 0;
  const base::Nanos end = clock_.now() + kMeasureTime;
  while (clock_.now() < end && !working().empty()) {
    each([](Gpu& gpu) { return succeed(cudaEventRecord(gpu.begin, gpu.stream), "record"); });
    for (int i = 0; i < kLaunchesAtOnce; ++i) RR_TRY(launch());
    each([](Gpu& gpu) { return succeed(cudaEventRecord(gpu.end, gpu.stream), "record"); });
    finish();
    each([&](const Gpu& gpu) -> base::Status {
      float ms = 0;
      RR_TRY(succeed(cudaEventElapsedTime(&ms, gpu.begin, gpu.end), "tell the time"));
      seconds[static_cast<std::size_t>(gpu.index)] += static_cast<double>(ms) / 1e3;
      return {};
    });
    launches += kLaunchesAtOnce;
  }
  for (const Gpu& gpu : gpus_) {
    double& each_took = seconds[static_cast<std::size_t>(gpu.index)];
    each_took = gpu.failed ? 0 : each_took / launches;
  }
  return seconds;
}

base::Status Session::measure(const std::string& what, const char* unit, double amount,
                              const Launch& launch) {
  const std::vector<double> seconds = RR_TRY(time(what, launch));
  for (std::uint32_t gpu = 0; gpu < seconds.size(); ++gpu) {
    if (seconds[gpu] > 0) facts_.figures.push_back({gpu, what, unit, amount / seconds[gpu]});
  }
  return {};
}

base::Status copy(Session& session) {
  const std::size_t bytes = session.sizes().copy;
  const std::vector<void*> from = session.allocate(bytes), to = session.allocate(bytes);
  session.each([&](Gpu& gpu) {
    return succeed(cudaMemset(from[static_cast<std::size_t>(gpu.index)], 0x5A, bytes),
                   "fill memory");
  });
  // Each byte is read and written.
  const double gigabytes = 2 * static_cast<double>(bytes) / 1e9;
  return session.measure("memory copy", "GB/s", gigabytes, [&]() -> base::Status {
    session.each([&](Gpu& gpu) {
      const auto place = static_cast<std::size_t>(gpu.index);
      return succeed(
          cudaMemcpyAsync(to[place], from[place], bytes, cudaMemcpyDeviceToDevice, gpu.stream),
          "copy within its memory");
    });
    return {};
  });
}

}  // namespace robustrun::probe
