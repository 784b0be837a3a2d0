#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <charconv>
#include <limits>
#include <utility>

#include "base/text.h"
#include "json/value.h"

namespace tessera::json {
namespace {

namespace bj = boost::json;

// Builds a Value from the parser's events. Written instead of using bj::parse for two reasons: that one lets the last
// duplicate key win, and its doubles do not always round-trip (Boost 1.81).
class Builder {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::size_t{1} << 16;
  static constexpr std::size_t max_string_size = std::size_t{1} << 26;

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code&) { return Open(Value(bj::object_kind, storage_)); }
  bool on_object_end(std::size_t, bj::error_code&) { return Close(); }
  bool on_array_begin(bj::error_code&) { return Open(Value(bj::array_kind, storage_)); }
  bool on_array_end(std::size_t, bj::error_code&) { return Close(); }

  bool on_key_part(bj::string_view part, std::size_t, bj::error_code&) { return Append(part); }
  bool on_key(bj::string_view part, std::size_t, bj::error_code& error) {
    Append(part);
    Frame& frame = stack_.back();
    frame.key.assign(text_);
    text_.clear();
    if (frame.value.get_object().contains(frame.key)) {
      duplicate_ = frame.key;
      error = bj::error::syntax;
      return false;
    }
    return true;
  }
  bool on_string_part(bj::string_view part, std::size_t, bj::error_code&) { return Append(part); }
  bool on_string(bj::string_view part, std::size_t, bj::error_code&) {
    Append(part);
    Value text(text_, storage_);
    text_.clear();
    return Put(std::move(text));
  }
  bool on_number_part(bj::string_view part, bj::error_code&) { return Append(part); }
  bool on_int64(std::int64_t number, bj::string_view, bj::error_code&) { return PutNumber(Value(number)); }
  bool on_uint64(std::uint64_t number, bj::string_view, bj::error_code&) { return PutNumber(Value(number)); }
  bool on_double(double number, bj::string_view part, bj::error_code&) {
    Append(part);
    double exact = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), exact);
    return PutNumber(Value(error == std::errc{} ? exact : number));
  }
  bool on_bool(bool value, bj::error_code&) { return Put(Value(value)); }
  bool on_null(bj::error_code&) { return Put(Value(nullptr)); }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

  Value Take() { return std::move(root_); }
  const std::string& duplicate() const { return duplicate_; }

 private:
  struct Frame {
    Value value;
    std::string key;  // The key whose value is being read, when `value` is an object.
  };

  bool Append(bj::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool Open(Value container) {
    stack_.push_back({std::move(container), {}});
    return true;
  }
  bool Close() {
    Value done = std::move(stack_.back().value);
    stack_.pop_back();
    return Put(std::move(done));
  }
  bool PutNumber(Value value) {
    text_.clear();
    return Put(std::move(value));
  }
  bool Put(Value value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (Value& parent = stack_.back().value; parent.is_object()) {
      parent.get_object().emplace(stack_.back().key, std::move(value));
    } else {
      parent.get_array().push_back(std::move(value));
    }
    return true;
  }

  // One arena for the whole document: it is read into structs and dropped, and shares its life with the values.
  bj::storage_ptr storage_ = bj::make_shared_resource<bj::monotonic_resource>();
  Value root_ = Value(storage_);
  std::vector<Frame> stack_;
  std::string text_;  // Parts of the string, key or number being read.
  std::string duplicate_;
};

// "line 3, column 7"
std::string Position(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line_start = before.rfind('\n');
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  return Format("line {}, column {}", line, column);
}

}  // namespace

Result<Value> ParseJson(std::string_view text) {
  bj::parse_options options;
  options.max_depth = kMaxDepth;
  bj::basic_parser<Builder> parser(options);
  bj::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (!error && used < text.size() && !Trim(text.substr(used)).empty()) error = bj::error::extra_data;
  if (error) {
    const std::string& duplicate = parser.handler().duplicate();
    const std::string what = duplicate.empty() ? error.message() : Format("duplicate key {}", Quote(duplicate));
    return BadConfig("BadJson", Format("{} at {}", what, Position(text, used)));
  }
  return parser.handler().Take();
}

}  // namespace tessera::json
