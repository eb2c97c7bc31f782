// Data exchange between GPUs over NCCL: how fast it is, and whether data arrives unchanged.
//
// Every word encodes its sender, receiver and position, so that misdirected or mixed-up words are
// detected like changed ones.

#include <fmt/core.h>
#include <nccl.h>

#include <memory>

#include "probe/gpu/session.h"
#include "probe/limits.h"

namespace robustrun::probe {
namespace {

base::Status succeed(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return {};
  return base::fail(base::Errc::kUnavailable,
                    fmt::format("cannot {}: {} ({})", what, ncclGetErrorString(result),
                                ncclGetLastError(nullptr)));
}

using Words = std::vector<std::uint32_t>;
constexpr std::size_t kWordBytes = sizeof(std::uint32_t);

constexpr std::size_t kAll = kGpusMax;  // not the number of any GPU

// The message of GPU `from` to GPU `to`, or to kAll.
Words message(std::size_t from, std::size_t to, std::size_t count) {
  Words words(count);
  const auto pair = static_cast<std::uint32_t>((from << 16) ^ to) * 0x9E3779B1U;
  for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(i) ^ pair;
  return words;
}

// GPUs that communicate with each other; a GPU's rank is its index in `gpus`.
struct Circle {
  std::vector<Gpu*> gpus;
  std::vector<ncclComm_t> comms;
};

base::Result<Circle> join(Session& session, std::vector<Gpu*> gpus) {
  Circle circle{std::move(gpus), {}};
  std::vector<int> devices;
  std::string names;
  for (const Gpu* const gpu : circle.gpus) {
    devices.push_back(gpu->index);
    names += fmt::format(" {}", gpu->index);
  }
  session.step("joining GPUs" + names + " with NCCL");
  circle.comms.resize(circle.gpus.size());
  RR_TRY(succeed(
      ncclCommInitAll(circle.comms.data(), static_cast<int>(devices.size()), devices.data()),
      "join the GPUs"));
  return circle;
}

base::Status put(const Gpu& gpu, void* where, const Words& words) {
  RR_TRY(probe::succeed(cudaSetDevice(gpu.index), "select it"));
  return probe::succeed(
      cudaMemcpy(where, words.data(), words.size() * kWordBytes, cudaMemcpyHostToDevice),
      "fill memory");
}

// Checks that `gpu` received from `sender` exactly the words in `sent`.
base::Status verify(const Gpu& gpu, const void* where, std::size_t sender, const Words& sent) {
  Words got(sent.size());
  RR_TRY(probe::succeed(cudaSetDevice(gpu.index), "select it"));
  RR_TRY(
      probe::succeed(cudaMemcpy(got.data(), where, got.size() * kWordBytes, cudaMemcpyDeviceToHost),
                     "read what came"));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) wrong += got[i] == sent[i] ? 0 : 1;
  if (wrong == 0) return {};
  return base::fail(base::Errc::kCorrupt, fmt::format("{} of {} words that GPU {} sent came wrong",
                                                      wrong, sent.size(), sender));
}

std::size_t place(const Gpu& gpu) { return static_cast<std::size_t>(gpu.index); }

// Runs `call` for all circles in one NCCL group.
template <class Call>
base::Status together(const std::vector<Circle>& circles, const Call& call) {
  RR_TRY(succeed(ncclGroupStart(), "begin"));
  for (const Circle& circle : circles) {
    for (std::size_t rank = 0; rank < circle.gpus.size(); ++rank) {
      RR_TRY(call(circle, rank));
    }
  }
  return succeed(ncclGroupEnd(), "send");
}

}  // namespace

base::Status all_to_all(Session& session) {
  const std::size_t bytes = session.sizes().exchange;
  const std::vector<void*> out = session.allocate(bytes), in = session.allocate(bytes);
  if (session.working().empty()) return {};
  const std::vector<Circle> circles{RR_TRY(join(session, session.working()))};
  const std::vector<Gpu*>& gpus = circles.front().gpus;
  const std::size_t count = bytes / kWordBytes / gpus.size();
  const auto piece = [count](void* memory, std::size_t rank) {
    return static_cast<char*>(memory) + rank * count * kWordBytes;
  };
  session.each([&](Gpu& gpu) -> base::Status {
    for (std::size_t to = 0; to < gpus.size(); ++to) {
      RR_TRY(put(gpu, piece(out[place(gpu)], to), message(place(gpu), place(*gpus[to]), count)));
    }
    return {};
  });
  const auto peers = static_cast<double>(gpus.size() - 1);
  const double gigabytes = peers * static_cast<double>(count * kWordBytes) / 1e9;
  const auto exchange = [&](const Circle& circle, std::size_t rank) -> base::Status {
    const Gpu& gpu = *circle.gpus[rank];
    for (std::size_t peer = 0; peer < gpus.size(); ++peer) {
      RR_TRY(succeed(ncclSend(piece(out[place(gpu)], peer), count, ncclUint32,
                              static_cast<int>(peer), circle.comms[rank], gpu.stream),
                     "send"));
      RR_TRY(succeed(ncclRecv(piece(in[place(gpu)], peer), count, ncclUint32,
                              static_cast<int>(peer), circle.comms[rank], gpu.stream),
                     "receive"));
    }
    return {};
  };
  const auto launch = [&] { return together(circles, exchange); };
  if (gpus.size() > 1) {
    RR_TRY(session.measure("all-to-all", "GB/s", gigabytes, launch));
  } else {
    RR_TRY(launch());  // a single GPU sends to itself, which says nothing about links
    session.finish();
  }
  session.step("verifying what came");
  session.each([&](Gpu& gpu) -> base::Status {
    for (std::size_t from = 0; from < gpus.size(); ++from) {
      RR_TRY(verify(gpu, piece(in[place(gpu)], from), place(*gpus[from]),
                    message(place(*gpus[from]), place(gpu), count)));
    }
    return {};
  });
  return {};
}

namespace {

// Pairs 0 with 1, 2 with 3 …, or (`odd`) 1 with 2, 3 with 4 …, if both GPUs work.
std::vector<std::vector<Gpu*>> pairs_of(const std::vector<Gpu*>& gpus, bool odd) {
  std::vector<std::vector<Gpu*>> pairs;
  for (std::size_t i = 0; i + 1 < gpus.size(); ++i) {
    const bool is_first = (gpus[i]->index % 2 == 1) == odd;
    if (is_first && gpus[i + 1]->index == gpus[i]->index + 1) {
      pairs.push_back({gpus[i], gpus[i + 1]});
    }
  }
  return pairs;
}

// An all-gather within every pair.
base::Status gather(Session& session, const std::vector<Circle>& circles,
                    const std::vector<void*>& out, const std::vector<void*>& in) {
  const std::size_t bytes = session.sizes().exchange;
  const std::size_t count = bytes / kWordBytes;
  const auto all_gather = [&](const Circle& circle, std::size_t rank) {
    const Gpu& gpu = *circle.gpus[rank];
    return succeed(ncclAllGather(out[place(gpu)], in[place(gpu)], count, ncclUint32,
                                 circle.comms[rank], gpu.stream),
                   "gather");
  };
  const std::vector<double> seconds = RR_TRY(
      session.time("all-gather of neighbours", [&] { return together(circles, all_gather); }));
  for (const Circle& circle : circles) {
    const Gpu& one = *circle.gpus.front();
    const double took = seconds[place(one)];
    if (took <= 0 || circle.gpus.back()->failed) continue;
    // Links within one machine may differ: each is compared with its counterpart on other machines.
    session.facts().figures.push_back(
        {static_cast<std::uint32_t>(one.index),
         fmt::format("all-gather of GPUs {} and {}", one.index, circle.gpus.back()->index), "GB/s",
         static_cast<double>(bytes) / 1e9 / took});
  }
  for (const Circle& circle : circles) {
    for (Gpu* const gpu : circle.gpus) {
      for (std::size_t rank = 0; rank < circle.gpus.size() && !gpu->failed; ++rank) {
        const std::size_t sender = place(*circle.gpus[rank]);
        const auto* const came = static_cast<const char*>(in[place(*gpu)]) + rank * bytes;
        const auto right = verify(*gpu, came, sender, message(sender, kAll, count));
        if (!right) session.fail(*gpu, right.error().what);
      }
    }
  }
  return {};
}

}  // namespace

base::Status neighbours(Session& session) {
  const std::size_t bytes = session.sizes().exchange;
  const std::vector<void*> out = session.allocate(bytes), in = session.allocate(2 * bytes);
  session.each([&](Gpu& gpu) {
    return put(gpu, out[place(gpu)], message(place(gpu), kAll, bytes / kWordBytes));
  });
  for (const bool odd : {false, true}) {
    std::vector<Circle> circles;
    for (auto& pair : pairs_of(session.working(), odd)) {
      circles.push_back(RR_TRY(join(session, std::move(pair))));
    }
    if (!circles.empty()) RR_TRY(gather(session, circles, out, in));
  }
  return {};
}

}  // namespace robustrun::probe
