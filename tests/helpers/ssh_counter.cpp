// Replaces the ssh client: appends its arguments to ITSELF.runs, a line each time, and becomes the
// real client. A program and not a script, because robustrun does not trust a script to treat all
// hosts alike.

#include <unistd.h>

#include <cstdio>
#include <string>

int main(int, char** argv) {
  std::string line;
  for (char** word = argv + 1; *word != nullptr; ++word) line += std::string(*word) + ' ';
  std::FILE* const runs = std::fopen((std::string(argv[0]) + ".runs").c_str(), "a");
  if (runs == nullptr || std::fputs((line + '\n').c_str(), runs) < 0 || std::fclose(runs) != 0) {
    return 1;
  }
  ::execvp("ssh", argv);
  return 1;
}
