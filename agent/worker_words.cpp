#include "agent/worker_words.h"

#include "base/core/text_template.h"

namespace robustrun::agent {

std::string line_prefix(const wire::WorkerTemplate& workers, const wire::WorkerSlot& slot) {
  const std::string& given = workers.line_prefix_template;
  const std::string rank = std::to_string(slot.rank.value);
  const std::string local_rank = std::to_string(slot.local_rank.value);
  const base::TemplateValue values[] = {
      {"role_name", workers.role}, {"rank", rank}, {"local_rank", local_rank}};
  return base::substitute(given.empty() ? "[${role_name}${local_rank}]:" : given, values);
}

wire::WorkerProgress progress_of(base::Attempt attempt, base::LocalRank rank,
                                 const tracer::Reading& reading) {
  wire::WorkerProgress progress;
  progress.attempt = attempt;
  progress.local_rank = rank;
  progress.steps = reading.steps;
  progress.step = reading.step;
  progress.user_code_at = reading.user_code_at;
  progress.first_step_at = reading.first_step_at;
  progress.last_step_at = reading.last_step_at;
  for (const auto& [name, value] : reading.metrics) progress.metrics.push_back({name, value});
  return progress;
}

}  // namespace robustrun::agent
