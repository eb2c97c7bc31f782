// configs/log_formats.toml: every row reads lines of its project, as that prints them, and no
// other's.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/spawn/worker_words.h"
#include "cli/tables/log_format_file.h"

namespace robustrun::cli::log_formats_shipped_test {
namespace {

using Values = std::map<std::string, double>;

struct Example {
  const char* project;
  std::string line;
  Values values;
};

// In the formats of the sources that the table names.
const std::vector<Example>& examples() {
  static const std::vector<Example> all = {
      {"Megatron-LM",
       " [2026-08-22 15:22:22.123456] iteration      100/  500000 | consumed samples:        25600 "
       "| elapsed time per iteration (ms): 1234.5 | throughput per GPU (TFLOP/s/GPU): 402.1 | "
       "learning rate: 1.500000E-04 | global batch size:   256 | lm loss: 2.345678E+00 | loss "
       "scale: 1.0 | grad norm: 1.234 | number of skipped iterations:   0 | number of nan "
       "iterations:   0 |",
       {{"step", 100},
        {"steps_total", 500000},
        {"loss", 2.345678},
        {"grad_norm", 1.234},
        {"step_time", 1.2345}}},
      // Megatron-DeepSpeed
      {"Megatron-LM",
       " iteration      199/  317892 | consumed samples:       152832 | consumed tokens:    "
       "625999872 | elapsed time per iteration (ms): 14287.5 | learning rate: 2.407E-04 | global "
       "batch size:   768 | lm loss: 5.905366E+00 | loss scale: 8192.0 | actual seqlen:  4096 | "
       "number of skipped iterations:   0 | number of nan iterations:   0 | samples per second: "
       "53.753 |",
       {{"step", 199}, {"steps_total", 317892}, {"loss", 5.905366}, {"step_time", 14.2875}}},
      {"NeMo",
       "Training epoch 0, iteration 97/99 | lr: 1.469e-05 | global_batch_size: 128 | global_step: "
       "97 | reduced_train_loss: 6.265 | train_step_timing in s: 12.22 | tokens_per_sec_per_gpu: "
       "1.073e+04 | consumed_samples: 12544",
       {{"step", 97}, {"loss", 6.265}, {"step_time", 12.22}, {"tokens_per_s_per_gpu", 10730}}},
      {"NeMo",
       "Training epoch 0, iteration 49/49 | lr: 7.496e-06 | global_batch_size: 128 | global_step: "
       "49 | peak_memory_usage: 70833405952 | memory_allocated: 44271689728 | "
       "reduced_train_loss: 11.96 | train_step_timing in s: 12.39 | consumed_samples: 6400",
       {{"step", 49}, {"loss", 11.96}, {"step_time", 12.39}}},
      {"HF Trainer",  // 5
       "{'loss': '2.341', 'grad_norm': '1.234', 'learning_rate': '4.9e-05', 'epoch': '0.01'}",
       {{"loss", 2.341}, {"grad_norm", 1.234}}},
      {"HF Trainer",  // 4
       "{'loss': 2.3412, 'grad_norm': 1.2340278625488281, 'learning_rate': 4.9e-05, 'epoch': 0.01}",
       {{"loss", 2.3412}, {"grad_norm", 1.2340278625488281}}},
      {"Lightning",
       "Epoch 0:  12%|█▎        | 1/8 [00:00<00:00, 11.24it/s, train_loss=0.282]",
       {{"loss", 0.282}, {"step_time", 1 / 11.24}}},
      {"Lightning",
       "Epoch 3:  50%|█████     | 16/32 [00:24<00:24,  1.52s/it, v_num=0, loss=2.310]",
       {{"loss", 2.31}, {"step_time", 1.52}}},
      {"Lightning",
       "Epoch 0/0  ━━━━━━━━━━━━━━━━━━━━ 8/8 0:00:00 • 0:00:00 127.83it/s train_loss: 0.015",
       {{"loss", 0.015}, {"step_time", 1 / 127.83}}},
      {"DeepSpeed",
       "[2026-08-02 00:41:17,936] [INFO] [timer.py:264:stop] epoch=0/micro_step=40/global_step=10, "
       "RunningAvgSamplesPerSec=220.69530887096045, CurrSamplesPerSec=222.88787331278564, "
       "MemAllocated=0.07GB, MaxMemAllocated=1.36GB",
       {{"step", 10}}},
      {"torchtitan",
       "[titan] 2026-08-21 21:30:21,001 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  8.13411  "
       "\x1b[38;2;180;60;0mgrad_norm:  2.1234  \x1b[38;2;54;234;195mmemory: 10.52GiB(11.07%)  "
       "\x1b[34mtps: 12,345  \x1b[36mtflops: 1,067.11  \x1b[35mmfu: 21.60%\x1b[39m",
       {{"step", 10},
        {"loss", 8.13411},
        {"grad_norm", 2.1234},
        {"tokens_per_s_per_gpu", 12345},
        {"mfu", 0.216}}},
      {"torchtitan",  // without colours, with FP8
       "[titan] 2026-08-21 21:30:21,001 - root - INFO - step:  1  loss: 12.25541  grad_norm:  "
       "1.7345  memory:  1.02GiB(1.07%)  tps: 345  tflops: 0.31  mfu: N/A",
       {{"step", 1}, {"loss", 12.25541}, {"grad_norm", 1.7345}, {"tokens_per_s_per_gpu", 345}}},
      {"nanoGPT",
       "iter 250: loss 3.2145, time 135.42ms, mfu 17.91%",
       {{"step", 250}, {"loss", 3.2145}, {"step_time", 0.13542}, {"mfu", 0.1791}}},
  };
  return all;
}

struct Read {
  std::set<std::string> projects;
  Values values;
  std::uint64_t lines = 0;
};

Read read(const std::string& output) {
  wire::WorkerTemplate workers;
  workers.line_formats = parse_log_formats(built_in_log_formats(), "log_formats.toml").value();
  Read read;
  auto metrics = agent::line_metrics_of(
      workers, [&](const std::string& project) { CHECK(read.projects.insert(project).second); });
  REQUIRE(metrics);
  metrics->feed(false, output);
  for (const auto& [name, value] : metrics->values()) read.values[name] = value;
  read.lines = metrics->lines();
  return read;
}

TEST_CASE("every project of the table has its line read, and only by its own row") {
  std::set<std::string> seen;
  for (const Example& example : examples()) {
    CAPTURE(example.line);
    seen.insert(example.project);
    const Read got = read(example.line + "\n" + example.line + "\r");
    CHECK(got.projects == std::set<std::string>{example.project});
    CHECK(got.lines == 2);
    REQUIRE(got.values.size() == example.values.size());
    for (const auto& [name, value] : example.values) {
      CAPTURE(name);
      REQUIRE(got.values.contains(name));
      CHECK(got.values.at(name) == doctest::Approx(value));
    }
  }
  const auto table = parse_log_formats(built_in_log_formats(), "log_formats.toml").value();
  for (const wire::LineFormat& format : table) {
    CHECK(seen.contains(format.project));
  }
}

TEST_CASE("lines that only look like those of a trainer are not read") {
  for (const char* line : {
           "Epoch 0:   0%|          | 0/8 [00:00<?, ?it/s]",
           "{'eval_loss': '2.2', 'eval_runtime': '1.2', 'epoch': '1'}",
           "{'train_runtime': '12.3', 'train_loss': '2.3', 'epoch': '1'}",
           "step 250: train loss 3.2, val loss 3.3",
           "Map: 100%|██████████| 100/100 [00:01<00:00, 99.9 examples/s]",
           "[Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]",
           " 10%|█         | 10/100 [00:01<00:09,  9.80it/s]",
           "training loss: 3, step: 7",
       }) {
    CAPTURE(line);
    CHECK(read(std::string(line) + "\n").lines == 0);
  }
}

TEST_CASE("a loss that is not a number is read as such") {
  const Read got = read("iter 7: loss nan, time 1.00ms, mfu -100.00%\n");
  CHECK(got.values.at("loss") != got.values.at("loss"));
}

TEST_CASE("two projects in one output complete each other") {
  const Read got = read(examples()[4].line + "\n" + examples()[9].line + "\n");
  CHECK(got.projects == std::set<std::string>{"HF Trainer", "DeepSpeed"});
  CHECK(got.values.at("loss") == 2.341);
  CHECK(got.values.at("step") == 10);
}

}  // namespace
}  // namespace robustrun::cli::log_formats_shipped_test
