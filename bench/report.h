// bench/report.h: results for people on a screen, and for programs in a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera::bench {

struct Measurement {
  std::string name;
  double value = 0;
  std::string unit;
  std::string against = {};          // The floor or peer it is compared with, measured in the same run.
  std::optional<double> floor = {};  // In the same unit.
};

// Prints a table and writes `file` as JSON: name, value, unit, against, floor, ratio.
void Report(const std::vector<Measurement>& measurements, const std::string& file);

}  // namespace tessera::bench
