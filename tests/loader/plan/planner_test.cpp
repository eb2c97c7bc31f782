#include "loader/plan/planner.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <random>
#include <set>

#include "loader/plan/balance.h"
#include "loader/plan/figures.h"

namespace planner_test {

using namespace robustrun;
using namespace robustrun::loader;

struct Data {
  Spec spec;
  std::vector<std::vector<std::uint32_t>> lengths;

  [[nodiscard]] std::vector<SampleLengths> known() const {
    return {lengths.begin(), lengths.end()};
  }
};

// Three sources of documents with the lengths of web pages and of papers.
Data some_data(std::uint32_t context = 1024, std::uint32_t bins = 48) {
  Data data;
  std::mt19937 random(7);
  std::lognormal_distribution<double> web(5.2, 1.1);
  std::lognormal_distribution<double> papers(7.2, 0.9);
  for (const char* const name : {"web", "code", "papers"}) {
    Source source;
    source.name = name;
    source.paths = {"unused"};
    data.spec.sources.push_back(source);
    auto& lengths = data.lengths.emplace_back();
    for (std::size_t i = 0; i < 3000; ++i) {
      const double length = data.lengths.size() == 3 ? papers(random) : web(random);
      lengths.push_back(static_cast<std::uint32_t>(length));
    }
  }
  data.spec.sources[0].weight = {{0, 600'000}, {20, 300'000}};
  data.spec.sources[1].weight = {{0, 300'000}};
  data.spec.sources[2].weight = {{5, 100'000}};
  data.spec.seed = 3;
  data.spec.batch.context = context;
  data.spec.batch.bins = bins;
  data.spec.shuffle.block = 64;
  data.spec.shuffle.window = 4;
  return data;
}

Planner planner_of(const Data& data, Cursor from = {}) {
  auto planner = Planner::open(data.spec, data.known(), std::move(from));
  REQUIRE(planner);
  return *std::move(planner);
}

StepPlan next(Planner& planner) {
  auto plan = planner.next();
  REQUIRE(plan);
  return *std::move(plan);
}

TEST_CASE("every token of an epoch is planned once, over steps, carry and parts of documents") {
  for (const Sync sync : {Sync::kStep, Sync::kMicro}) {
    for (const Pack pack : {Pack::kBestFit, Pack::kNextFit}) {
      for (const Leftover leftover : {Leftover::kCarry, Leftover::kPad}) {
        Data data = some_data();
        data.spec.balance.sync = sync;
        data.spec.batch.pack = pack;
        data.spec.batch.leftover = leftover;
        Planner planner = planner_of(data);
        // source, sample → tokens planned
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> planned;
        for (int step = 0; step < 30; ++step) {
          for (const Piece& piece : next(planner).pieces) {
            planned[{piece.source, piece.sample}] += piece.length;
          }
        }
        for (const Piece& piece : planner.cursor().carry) {
          planned[{piece.source, piece.sample}] += piece.length;
        }
        std::array<std::uint64_t, 3> samples{};
        for (const auto& [key, tokens] : planned) {
          REQUIRE(tokens == data.lengths[key.first][key.second]);
          ++samples[key.first];
        }
        for (std::size_t i = 0; i < 3; ++i) {
          REQUIRE(planner.cursor().sources[i].position < data.lengths[i].size());
          std::uint64_t empty = 0;  // samples without a token leave no piece
          for (const std::uint32_t length : data.lengths[i]) empty += length == 0 ? 1 : 0;
          CHECK(planner.cursor().sources[i].position - samples[i] <= empty);
        }
        CHECK(planner.cursor().dropped == 0);
      }
    }
  }
}

TEST_CASE("a run that stops anywhere goes on with the same steps, from the cursor alone") {
  for (const Leftover leftover : {Leftover::kCarry, Leftover::kPad, Leftover::kDrop}) {
    Data data = some_data();
    data.spec.batch.leftover = leftover;
    Planner whole = planner_of(data);
    Planner part = planner_of(data);
    for (int step = 0; step < 40; ++step) {
      if (step % 7 == 3) part = planner_of(data, Cursor(part.cursor()));
      REQUIRE(digest(next(whole)) == digest(next(part)));
      REQUIRE(whole.cursor() == part.cursor());
    }
  }
}

TEST_CASE("step 1,000,000 of 306 sources is found within a millisecond") {
  Data data;
  for (int i = 0; i < 306; ++i) {
    data.spec.sources.push_back(
        {fmt::format("s{}", i), Format::kMegatron, {"unused"}, 4, {{0, 1'000'000}}});
    data.lengths.emplace_back(100, 500);
  }
  data.spec.batch.context = 1024;
  data.spec.batch.bins = 300;
  Planner first = planner_of(data);
  REQUIRE(first.next());
  Cursor later = first.cursor();
  for (SourceCursor& source : later.sources) source.position *= 1'000'000;
  later.step *= 1'000'000;
  const auto shortest = [&](const Cursor& from) {
    double seconds = 1;
    for (int i = 0; i < 20; ++i) {
      Cursor copy = from;
      const std::clock_t began = std::clock();
      const auto planner = Planner::open(data.spec, data.known(), std::move(copy));
      const double took = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
      REQUIRE(planner);
      seconds = std::min(seconds, took);
    }
    return seconds;
  };
  const double took = shortest(later);
  MESSAGE("a cursor of 306 sources at step 1,000,000: " << 1e3 * took << " ms");
#ifndef RR_SANITIZED
  CHECK(took <= 0.001);
#endif
  Planner planner = planner_of(data, later);
  REQUIRE(planner.next());
  CHECK(planner.cursor().step == 1'000'001);
}

TEST_CASE("epochs follow each other, each in an order of its own") {
  Data data = some_data();
  data.lengths[0].resize(50);
  data.spec.sources[1].weight = {{0, 0}};
  data.spec.sources[2].weight = {{0, 0}};
  Planner planner = planner_of(data);
  std::vector<std::uint64_t> samples;
  while (planner.cursor().sources[0].position < 200) {
    for (const Piece& piece : next(planner).pieces) {
      if (piece.offset == 0) samples.push_back(piece.sample);
    }
  }
  // Pieces are in the order of drawing but for what is carried, so counts are compared.
  std::map<std::uint64_t, int> counts;
  for (const std::uint64_t sample : samples) ++counts[sample];
  for (const auto& [sample, count] : counts) CHECK(count >= 3);
}

TEST_CASE("bins hold at most the context, and their sums are right") {
  Data data = some_data();
  data.spec.balance.square = 24'000;
  Planner planner = planner_of(data);
  for (int step = 0; step < 20; ++step) {
    const StepPlan plan = next(planner);
    CHECK(plan.bins.size() == 48);
    std::set<std::uint32_t> seen;
    for (const Bin& bin : plan.bins) {
      std::uint32_t tokens = 0;
      std::uint64_t cost = 0;
      for (const std::uint32_t index : bin.pieces) {
        tokens += plan.pieces.at(index).length;
        cost += cost_of(data.spec, plan.pieces.at(index).length);
        CHECK(seen.insert(index).second);
      }
      CHECK(tokens == bin.tokens);
      CHECK(cost == bin.cost);
      CHECK(tokens <= 1024);
    }
    CHECK(seen.size() == plan.pieces.size());
  }
}

TEST_CASE(
    "what a step contains does not depend on the number of ranks, nor on the order of files") {
  Data data = some_data();
  Planner planner = planner_of(data);
  const StepPlan plan = next(planner);
  for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 8U}) {
    std::vector<std::uint64_t> costs;
    for (const Bin& bin : plan.bins) costs.push_back(bin.cost);
    std::size_t dealt = 0;
    for (const auto& rank : deal(costs, ranks, 1, Sync::kStep)) dealt += rank[0].size();
    CHECK(dealt == plan.bins.size());
  }
  // A source's order depends on its name, not on its place in the file.
  Data swapped = some_data();
  std::swap(swapped.spec.sources[0], swapped.spec.sources[1]);
  std::swap(swapped.lengths[0], swapped.lengths[1]);
  Planner other = planner_of(swapped);
  std::set<std::uint64_t> web;
  std::set<std::uint64_t> web_swapped;
  for (const Piece& piece : plan.pieces) {
    if (piece.source == 0) web.insert(piece.sample);
  }
  for (const Piece& piece : next(other).pieces) {
    if (piece.source == 1) web_swapped.insert(piece.sample);
  }
  std::size_t common = 0;
  for (const std::uint64_t sample : web) common += web_swapped.contains(sample) ? 1 : 0;
  CHECK(common * 10 >= web.size() * 9);
}

TEST_CASE("documents that do not fit are an error, split, or cut, as asked") {
  Data data = some_data(64, 4);
  data.lengths[0].assign(100, 1000);
  data.lengths[1].assign(100, 1000);
  data.lengths[2].assign(100, 1000);
  SUBCASE("refused, with the sample's number") {
    data.spec.batch.longer = Long::kRefuse;
    Planner planner = planner_of(data);
    const auto plan = planner.next();
    REQUIRE_FALSE(plan);
    CHECK(plan.error().what.find("has 1000 tokens, more than batch.context = 64") !=
          std::string::npos);
    CHECK(planner.cursor().step == 0);
  }
  SUBCASE("cut") {
    data.spec.batch.longer = Long::kTruncate;
    Planner planner = planner_of(data);
    const StepPlan plan = next(planner);
    CHECK(plan.pieces.size() == 4);
    for (const Piece& piece : plan.pieces) CHECK(piece.length == 64);
  }
  SUBCASE("longer than a step, without carry") {
    data.spec.batch.leftover = Leftover::kPad;
    Planner planner = planner_of(data);
    const auto plan = planner.next();
    REQUIRE_FALSE(plan);
    CHECK(plan.error().what.find("does not fit into a step") != std::string::npos);
  }
  SUBCASE("longer than a step, over several") {
    Planner planner = planner_of(data);
    for (int step = 0; step < 10; ++step) CHECK(next(planner).pieces.size() == 4);
  }
}

TEST_CASE("more left over than a cursor holds is an error") {
  Data data = some_data(2, 1);
  data.lengths[0].assign(10, 20'000);
  data.spec.sources[1].weight = {{0, 0}};
  data.spec.sources[2].weight = {{0, 0}};
  Planner planner = planner_of(data);
  const auto plan = planner.next();
  REQUIRE_FALSE(plan);
  CHECK(plan.error().what.find("documents for the next one, more than 4096") != std::string::npos);
}

TEST_CASE("the plan is better than the order of arrival, and never better than its bound") {
  Data data = some_data(1024, 32);
  data.spec.batch.micro = 4;
  data.spec.balance.square = 2'000'000;
  for (const Sync sync : {Sync::kStep, Sync::kMicro}) {
    data.spec.balance.sync = sync;
    Planner planner = planner_of(data);
    double planned = 0;
    double in_order = 0;
    for (int step = 0; step < 20; ++step) {
      const StepFigures figures = figures_of(data.spec, next(planner), 8);
      const auto& [ours, theirs] = std::pair(figures.planned, figures.in_order);
      planned += sync == Sync::kStep ? ours.step : ours.micro;
      in_order += sync == Sync::kStep ? theirs.step : theirs.micro;
      CHECK(figures.planned.step >= figures.bound * 0.999999);
      CHECK(figures.planned.micro >= figures.planned.step * 0.999999);
      CHECK(figures.padding >= 0);
    }
    CHECK(planned < in_order);
  }
}

// The contents of steps are a promise: a changed digest changes the data of users' runs.
TEST_CASE("plans are those of the last version") {
  Data data = some_data();
  const auto tenth = [&data] {
    Planner planner = planner_of(data);
    std::uint64_t last = 0;
    for (int step = 0; step < 10; ++step) last = digest(next(planner));
    return last;
  };
  // Lengths that no library's distributions decide.
  for (auto& lengths : data.lengths) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      lengths[i] = static_cast<std::uint32_t>(1 + i * 7919 % 900);
    }
  }
  CHECK(tenth() == 7885516880838716213U);
  data.spec.balance.sync = Sync::kMicro;
  CHECK(tenth() == 8810815551935302693U);
  data.spec.batch.pack = Pack::kNextFit;
  CHECK(tenth() == 17589368476589855837U);
}

}  // namespace planner_test
