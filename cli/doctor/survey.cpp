#include "cli/doctor/survey.h"

#include <signal.h>

#include <boost/asio/io_context.hpp>

#include "base/core/text.h"
#include "base/io/blocking_pool.h"
#include "cli/doctor/request.h"
#include "cli/options/limits.h"
#include "launcher/hosts/host_list.h"
#include "launcher/ssh/errand.h"

namespace robustrun::cli {

std::vector<HostChecks> survey_hosts(const Surroundings& around,
                                     const std::vector<launcher::Host>& hosts,
                                     launcher::SshOptions ssh) {
  // A host that hung up is an error of write().
  ::signal(SIGPIPE, SIG_IGN);
  std::vector<HostChecks> answers;
  for (const launcher::Host& host : hosts) answers.push_back({launcher::to_text(host), "", {}});
  std::size_t waiting = hosts.size();
  boost::asio::io_context loop(1);
  base::BlockingPool pool(loop.get_executor(), kDoctorThreads, kDoctorQueueMax);
  const auto errands =
      launcher::SshErrands::start(loop.get_executor(), pool, hosts, std::move(ssh),
                                  {.arguments = "agent --doctor",
                                   .input = write_doctor_request(doctor_request(around)),
                                   .limit = kDoctorHostMax,
                                   .output_max = kDoctorAnswerMax},
                                  [&](std::size_t host, const launcher::SshErrandEnd& end) {
                                    answers[host].error = base::printable(end.why);
                                    if (end.why.empty()) {
                                      auto checks = read_doctor_answer(end.output);
                                      if (!checks) {
                                        answers[host].error = checks.error().what;
                                      } else {
                                        answers[host].checks = *std::move(checks);
                                      }
                                    }
                                    if (--waiting == 0) loop.stop();
                                  });
  loop.run();
  return answers;
}

}  // namespace robustrun::cli
