#include "bench/report.h"

#include <cstdio>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "json/value.h"

namespace tessera::bench {

void Report(const std::vector<Measurement>& measurements, const std::string& file) {
  json::Array rows;
  std::printf("%-48s %12s %-12s %8s  %s\n", "WHAT", "VALUE", "UNIT", "RATIO", "AGAINST");
  for (const Measurement& m : measurements) {
    json::Object row{{"name", m.name}, {"value", m.value}, {"unit", m.unit}};
    std::string ratio = "-";
    if (m.floor) {
      row["against"] = m.against;
      row["floor"] = *m.floor;
      row["ratio"] = m.value / *m.floor;
      ratio = Format("{:.2f}", m.value / *m.floor);
    }
    std::printf("%-48s %12.1f %-12s %8s  %s\n", m.name.c_str(), m.value, m.unit.c_str(), ratio.c_str(),
                m.floor ? Format("{}: {:.1f}", m.against, *m.floor).c_str() : "-");
    rows.push_back(std::move(row));
  }
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  if (const auto written = ReplaceFile(file, json::PrintJson(rows, 2) + "\n"); !written.has_value()) {
    std::fprintf(stderr, "%s\n", written.error().Text().c_str());
  }
}

}  // namespace tessera::bench
