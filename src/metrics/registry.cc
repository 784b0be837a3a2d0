#include "metrics/registry.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/error.h"
#include "base/text.h"

namespace tessera::metrics {
namespace {

bool IsName(std::string_view name) {
  const auto first = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && first(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return first(c) || (c >= '0' && c <= '9'); });
}

std::string Number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (std::isnan(value)) return "NaN";
  return Format("{}", value);  // The shortest text that reads back as the same number.
}

// Label values escape backslash, quote and line end; HELP only the first and the last of them.
std::string Escaped(std::string_view text, bool quotes) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || (quotes && c == '"')) out += '\\';
      out += c;
    }
  }
  return out;
}

}  // namespace

Histogram::Histogram(const std::vector<double>& bounds) : bounds_(bounds), buckets_(bounds.size() + 1) {}

void Histogram::Observe(double value) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  buckets_[static_cast<std::size_t>(bound - bounds_.begin())].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

template <class Metric>
Family<Metric>::Family(std::string name, std::string help, std::vector<std::string> label_names,
                       std::vector<double> bounds)
    : name_(std::move(name)), help_(std::move(help)), label_names_(std::move(label_names)), bounds_(std::move(bounds)) {
  if (!IsName(name_) || !std::ranges::all_of(label_names_, IsName)) Abort("bad metric or label name: " + name_);
  if (!std::ranges::is_sorted(bounds_)) Abort("bounds out of order: " + name_);
}

template <class Metric>
Metric& Family<Metric>::With(const Labels& labels) {
  if (labels.size() != label_names_.size()) Abort("wrong number of labels: " + name_);
  const std::lock_guard lock(mutex_);
  const bool full = series_.size() >= kMaxSeries && !series_.contains(labels);
  auto& metric = series_[full ? Labels(labels.size(), "other") : labels];
  if (!metric) {
    if constexpr (std::same_as<Metric, Histogram>) {
      metric = std::make_unique<Histogram>(bounds_);
    } else {
      metric = std::make_unique<Metric>();
    }
  }
  return *metric;
}

template <class Metric>
void Family<Metric>::Clear() {
  const std::lock_guard lock(mutex_);
  series_.clear();
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

// Writes families in the text format.
class Printer {
 public:
  template <class Metric>
  void Print(const Family<Metric>& family) {
    const std::lock_guard lock(family.mutex_);
    if (family.series_.empty()) return;
    format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", family.name_, Escaped(family.help_, false),
              family.name_, Type(family));
    for (const auto& [labels, metric] : family.series_) Series(family, labels, *metric);
  }
  std::string Take() { return std::move(text_); }

 private:
  static std::string_view Type(const Family<Counter>&) { return "counter"; }
  static std::string_view Type(const Family<Gauge>&) { return "gauge"; }
  static std::string_view Type(const Family<Histogram>&) { return "histogram"; }

  // `{a="x",b="y"}` with `extra` (already formatted) behind them, or nothing when there is neither.
  template <class Metric>
  static std::string Braces(const Family<Metric>& family, const Labels& labels, std::string_view extra = {}) {
    std::string inside;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      format_to(std::back_inserter(inside), "{}{}=\"{}\"", inside.empty() ? "" : ",", family.label_names_[i],
                Escaped(labels[i], true));
    }
    if (!extra.empty()) format_to(std::back_inserter(inside), "{}{}", inside.empty() ? "" : ",", extra);
    return inside.empty() ? inside : "{" + inside + "}";
  }

  void Line(std::string_view name, std::string_view suffix, std::string_view braces, std::string_view value) {
    format_to(std::back_inserter(text_), "{}{}{} {}\n", name, suffix, braces, value);
  }
  void Series(const Family<Counter>& family, const Labels& labels, const Counter& counter) {
    Line(family.name_, "", Braces(family, labels), Number(counter.value()));
  }
  void Series(const Family<Gauge>& family, const Labels& labels, const Gauge& gauge) {
    Line(family.name_, "", Braces(family, labels), Number(gauge.value()));
  }
  void Series(const Family<Histogram>& family, const Labels& labels, const Histogram& histogram) {
    // Summed here, so that _count always equals the last bucket even while others observe.
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < histogram.buckets_.size(); ++i) {
      sum += histogram.buckets_[i].load(std::memory_order_relaxed);
      const double bound = i < family.bounds_.size() ? family.bounds_[i] : INFINITY;
      Line(family.name_, "_bucket", Braces(family, labels, Format("le=\"{}\"", Number(bound))), Format("{}", sum));
    }
    Line(family.name_, "_sum", Braces(family, labels), Number(histogram.sum_.load(std::memory_order_relaxed)));
    Line(family.name_, "_count", Braces(family, labels), Format("{}", sum));
  }

  std::string text_;
};

class Registry::Impl {
 public:
  template <class Metric>
  Family<Metric>& Add(std::unique_ptr<Family<Metric>> family, const std::string& name) {
    const std::lock_guard lock(mutex_);
    Family<Metric>& added = *family;
    if (!families_.emplace(name, std::move(family)).second) Abort("metric added twice: " + name);
    if (added.label_names_.empty()) added.With({});  // Without labels it is there from the start, at zero.
    return added;
  }

  void OnPrint(std::function<void()> refresh) {
    const std::lock_guard lock(mutex_);
    refreshers_.push_back(std::move(refresh));
  }

  std::string Print() {
    const std::lock_guard one_at_a_time(print_mutex_);  // A refresh may clear series that another Print() reads.
    for (const auto& refresh : Refreshers()) refresh();
    const std::lock_guard lock(mutex_);
    Printer printer;
    for (const auto& [name, family] : families_) {
      std::visit([&](const auto& f) { printer.Print(*f); }, family);
    }
    return printer.Take();
  }

 private:
  // Copied, because they are called without the lock: they may be slow, and may add series.
  std::vector<std::function<void()>> Refreshers() {
    const std::lock_guard lock(mutex_);
    return refreshers_;
  }

  using AnyFamily = std::variant<std::unique_ptr<Family<Counter>>, std::unique_ptr<Family<Gauge>>,
                                 std::unique_ptr<Family<Histogram>>>;
  std::mutex print_mutex_;
  std::mutex mutex_;  // Guards everything below.
  std::map<std::string, AnyFamily> families_;
  std::vector<std::function<void()>> refreshers_;
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Family<Counter>& Registry::AddCounter(const std::string& name, std::string help, std::vector<std::string> labels) {
  std::unique_ptr<Family<Counter>> family(new Family<Counter>(name, std::move(help), std::move(labels)));
  return impl_->Add(std::move(family), name);
}

Family<Gauge>& Registry::AddGauge(const std::string& name, std::string help, std::vector<std::string> labels) {
  std::unique_ptr<Family<Gauge>> family(new Family<Gauge>(name, std::move(help), std::move(labels)));
  return impl_->Add(std::move(family), name);
}

Family<Histogram>& Registry::AddHistogram(const std::string& name, std::string help, std::vector<double> bounds,
                                          std::vector<std::string> labels) {
  std::unique_ptr<Family<Histogram>> family(
      new Family<Histogram>(name, std::move(help), std::move(labels), std::move(bounds)));
  return impl_->Add(std::move(family), name);
}

void Registry::OnPrint(std::function<void()> refresh) { impl_->OnPrint(std::move(refresh)); }

std::string Registry::Print() const { return impl_->Print(); }

}  // namespace tessera::metrics
