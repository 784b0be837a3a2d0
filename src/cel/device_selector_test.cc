#include "cel/device_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "cel/test_device.h"

namespace {
std::atomic<std::size_t> allocations = 0;
}  // namespace

// Every allocation of this program is counted, so that a test can say that there was none.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace tessera::cel {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// "true", "false", or the error's message.
std::string Answer(std::string_view expression, const DeviceFacts& device, const Environment& environment = {}) {
  const auto selector = Compile(expression, environment);
  if (!selector) return selector.error().message();
  const auto match = selector->Matches(device);
  if (!match) return match.error().message();
  return *match ? "true" : "false";
}

std::string Advice(std::string_view expression, const DeviceFacts& device) {
  const auto match = Compile(expression, {}).value().Matches(device);
  return match ? "it did not fail" : match.error().advice();
}

std::size_t AllocationsOfAMatch(const DeviceSelector& selector, const DeviceFacts& device) {
  const std::size_t before = allocations;
  const auto match = selector.Matches(device);
  const std::size_t after = allocations;
  EXPECT_TRUE(match.value());
  return after - before;
}

// More of these, with Kubernetes' own answers: tests/cel.
TEST(DeviceSelector, AnswersForADevice) {
  struct Case {
    std::string_view expression, answer;
  };
  const Case cases[]{
      {"device.driver == 'gpu.nvidia.com'", "true"},
      {"device.attributes['gpu.nvidia.com'].type == 'gpu'", "true"},
      {"device.attributes['gpu.nvidia.com']['type'] == 'mig'", "false"},
      {"device.attributes['resource.kubernetes.io'].pcieRoot.startsWith('pci')", "true"},
      {"cel.bind(gpu, device.attributes['gpu.nvidia.com'], gpu.type == 'gpu' && gpu.minor < 4)", "true"},
      {"device.attributes['no.such.domain'].x == 1", "no such key: x"},
      {"has(device.attributes['no.such.domain'].x)", "false"},
      {"'no.such.domain' in device.attributes", "false"},
      {"device.attributes['no.such.domain'].size() == 0", "true"},
      {"device.attributes.size() == 2", "true"},
      {"device.attributes['gpu.nvidia.com'].?nosuch.orValue('x') == 'x'", "true"},
  };
  const DeviceFacts gpu = TestGpu();
  for (const auto& c : cases) {
    SCOPED_TRACE(c.expression);
    EXPECT_EQ(Answer(c.expression, gpu), c.answer);
  }
}

TEST(DeviceSelector, AdviceNamesTheNearestAttributeTheDeviceHas) {
  const DeviceFacts gpu = TestGpu();
  EXPECT_EQ(Advice("device.attributes['gpu.nvidia.com'].productname == 'x'", gpu),
            "did you mean productName?\n"
            "ERROR: <input>:1:36: no such key: productname\n"
            " | device.attributes['gpu.nvidia.com'].productname == 'x'\n"
            " | ...................................^");
  EXPECT_THAT(Advice("device.capacity['gpu.nvidia.com'].memori == quantity('1')", gpu),
              StartsWith("did you mean memory?\n"));
  EXPECT_THAT(Advice("device.attributes['gpu.nvidia.com'].xyz == 1", gpu), StartsWith("ask with has() or .? first:\n"));
}

TEST(DeviceSelector, AFailurePointsIntoTheExpression) {
  const DeviceFacts gpu = TestGpu();
  EXPECT_EQ(Advice("true &&\n  device.attributes['gpu.nvidia.com'].minor / 0 == 1", gpu),
            "make sure that it is evaluated only where it can be:\n"
            "ERROR: <input>:2:45: division by zero\n"
            " |   device.attributes['gpu.nvidia.com'].minor / 0 == 1\n"
            " | ............................................^");
  EXPECT_THAT(Advice("{'a': 1}[device.driver] == 1", gpu),
              HasSubstr("ERROR: <input>:1:9: no such key: gpu.nvidia.com"));
  // What || forgives is not what failed.
  EXPECT_THAT(Advice("(1 / 0 == 1 || true) && device.attributes['x'].y == 1", gpu),
              HasSubstr("ERROR: <input>:1:47: no such key: y\n"));
  EXPECT_THAT(Advice("[0, 1].exists(x, 1 / x == 1) && device.attributes['x'].y == 1", gpu),
              HasSubstr("ERROR: <input>:1:55: no such key: y\n"));
}

TEST(DeviceSelector, ListsWhatItNames) {
  const auto selector = Compile(
      "device.attributes['a'].b == 1 && has(device.attributes['a'].c) && device.capacity['d'][?'e'].hasValue()", {});
  std::string names;
  for (const Reference& reference : selector->References()) {
    names += (reference.is_capacity ? "capacity " : "attribute ") + reference.domain + "/" + reference.id + ";";
  }
  EXPECT_EQ(names, "attribute a/b;attribute a/c;capacity d/e;");
}

TEST(DeviceSelector, UsualSelectorsDoNotTouchTheHeap) {
  const DeviceFacts gpu = TestGpu();
  constexpr std::string_view kProductAndMemory =
      "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H200' && "
      "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0";
  constexpr std::string_view kExpressions[]{
      kProductAndMemory,
      "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
      "device.attributes['gpu.nvidia.com'].driverVersion.isGreaterThan(semver('550.0.0'))",
      "device.attributes['gpu.nvidia.com'].minor in [1, 2, 3]",
      "has(device.attributes['gpu.nvidia.com'].minor) && device.attributes['gpu.nvidia.com'].?x.orValue(true)",
      "device.attributes['gpu.nvidia.com'].productName.startsWith('NVIDIA')",
      "cel.bind(gpu, device.attributes['gpu.nvidia.com'], gpu.minor > 1 && gpu.migCapable)",
      "['a', 'b'].exists(x, x == 'b') && device.attributes.all(d, d != '')",
  };
  for (const std::string_view expression : kExpressions) {
    SCOPED_TRACE(expression);
    EXPECT_EQ(AllocationsOfAMatch(Compile(expression, {}).value(), gpu), 0U);
  }
}

TEST(DeviceSelector, ConstantRegularExpressionsAreCompiledOnce) {
  const DeviceFacts gpu = TestGpu();
  const auto constant =
      Compile("device.attributes['gpu.nvidia.com'].productName.matches('^NVIDIA (H100|H200)$')", {}).value();
  ASSERT_TRUE(constant.Matches(gpu).value());  // RE2 builds its automaton when it first runs.
  EXPECT_EQ(AllocationsOfAMatch(constant, gpu), 0U);

  const auto computed = Compile("device.driver.matches('^' + device.driver)", {}).value();
  ASSERT_TRUE(computed.Matches(gpu).value());
  EXPECT_GT(AllocationsOfAMatch(computed, gpu), 0U) << "compiling is not counted, so the test above shows nothing";
}

TEST(DeviceSelector, IsSharedByThreads) {
  const auto selector =
      Compile("device.attributes['gpu.nvidia.com'].productName.matches('H[0-9]+$') && [1, 2].map(x, x)[0] == 1", {});
  const DeviceFacts gpu = TestGpu();
  std::atomic<int> matches = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, mine = *selector] {
        for (int n = 0; n < 200; ++n) matches += mine.Matches(gpu).value() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(matches, 800);
}

TEST(DeviceSelector, FollowsRelease) {
  struct Case {
    std::string_view expression;
    Environment environment;
    std::string_view answer;  // The beginning of it.
  };
  constexpr auto kNew = Use::kNewExpression;
  const Case cases[]{
      // cel-go's lists: known to 1.34, admitted by 1.35.
      {"[2, 1].sort()[0] == 1", {.release = Release::k1_34, .use = kNew}, "compilation failed: "},
      {"[2, 1].sort()[0] == 1", {.release = Release::k1_34}, "true"},
      {"[2, 1].sort()[0] == 1", {.release = Release::k1_35, .use = kNew}, "true"},
      {"['bb', 'a'].sortBy(x, x.size())[0] == 'a'", {.release = Release::k1_34, .use = kNew}, "compilation failed: "},
      {"!device.allowMultipleAllocations", {.release = Release::k1_34}, "true"},
      {"!device.allowMultipleAllocations", {.release = Release::k1_34, .use = kNew}, "true"},
      {"!device.allowMultipleAllocations",
       {.release = Release::k1_36, .use = kNew, .consumable_capacity_gate = false},
       "compilation failed: "},
      {"[1].includes(1)", {.release = Release::k1_35}, "compilation failed: "},
      {"[1].includes(1)", {.release = Release::k1_36}, "true"},
      {"[1].includes(1)", {.release = Release::k1_36, .use = kNew}, "compilation failed: "},
      {"[1].includes(1)", {.release = Release::k1_36, .use = kNew, .list_type_attributes_gate = true}, "true"},
      {"lists.range(49).includes(1)", {.release = Release::k1_36}, "'includes' function cannot be applied to lists"},
      {"lists.range(49).includes(1)", {.release = Release::k1_37}, "true"},
      {"device.attributes['gpu.nvidia.com'].`type` == 'gpu'", {.release = Release::k1_36}, "compilation failed: "},
      {"device.attributes['gpu.nvidia.com'].`type` == 'gpu'", {.release = Release::k1_37}, "true"},
  };
  const DeviceFacts gpu = TestGpu();
  for (const auto& c : cases) {
    SCOPED_TRACE(c.expression);
    EXPECT_TRUE(Answer(c.expression, gpu, c.environment).starts_with(c.answer))
        << Answer(c.expression, gpu, c.environment);
  }
}

TEST(DeviceSelector, ListAttributesAreLookedAtWhereTheReleaseHasThem) {
  DeviceFacts gpu = TestGpu();
  AddAttribute(gpu, "zones", std::vector<std::string>{"a", "b"});
  const std::string_view expression = "device.attributes['gpu.nvidia.com'].zones.exists(z, z == 'b')";
  EXPECT_EQ(Answer(expression, gpu, {.release = Release::k1_37}), "true");
  EXPECT_EQ(Answer(expression, gpu, {.release = Release::k1_36, .list_type_attributes_gate = true}), "true");
  // A scheduler that does not know lists fails on the device, whatever the expression says.
  EXPECT_EQ(Answer("true", gpu, {.release = Release::k1_36}), "attribute zones: unsupported attribute value");
}

TEST(DeviceSelector, AVersionThatIsNoneFailsEverySelector) {
  DeviceFacts gpu = TestGpu();
  AddVersion(gpu, "firmware", "1.x");
  EXPECT_EQ(Answer("true", gpu),
            "attribute firmware: parse semantic version: No Major.Minor.Patch elements found: \"1.x\"");
}

TEST(DeviceSelector, RefusesWhatTheApiRefuses) {
  const auto code = [](std::string_view expression) {
    const auto selector = Compile(expression, {.use = Use::kNewExpression});
    return selector ? std::string() : std::string(selector.error().code());
  };
  EXPECT_EQ(code("'" + std::string(std::size_t{10} * 1024, 'x') + "' == 'x'"), "CelTooLong");
  EXPECT_EQ(code("device.attributes.all(a, device.attributes.all(b, a + b != 'x'))"), "");
  EXPECT_EQ(code("device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a + b + c != 'x')))"),
            "CelTooComplex");
  EXPECT_EQ(code("device.driver"), "CelCompileError");
}

TEST(DeviceSelector, TheCostLimitEndsAnEvaluation) {
  const auto selector = Compile("lists.range(1000).all(x, x >= 0)", {.cost_limit = 100});
  const auto match = selector->Matches(TestGpu());
  ASSERT_FALSE(match.has_value());
  EXPECT_EQ(match.error().code(), "CelCostExceeded");
  EXPECT_EQ(match.error().message(), "operation cancelled: actual cost limit exceeded");
}

}  // namespace
}  // namespace tessera::cel
