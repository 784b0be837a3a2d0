// Keeps the first GPU busy for so many seconds: arithmetic on all its cores and traffic to all its memory.
//
//   nvcc -O2 -o load load.cu && ./load 480
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t kFloats = std::size_t{1} << 28;  // 1 GiB.
constexpr int kRounds = 256;

__global__ void Work(float* values, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    float value = values[i];
    for (int round = 0; round < kRounds; ++round) value = value * 0.999F + 0.001F;
    values[i] = value;
  }
}

void Check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const long seconds = argc == 2 ? std::strtol(argv[1], nullptr, 10) : 0;
  if (seconds <= 0) {
    std::fprintf(stderr, "usage: load SECONDS\n");
    return 2;
  }
  float* values = nullptr;
  Check(cudaMalloc(&values, kFloats * sizeof(float)), "cudaMalloc");
  Check(cudaMemset(values, 0, kFloats * sizeof(float)), "cudaMemset");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  long launches = 0;
  while (std::chrono::steady_clock::now() < end) {
    Work<<<1024, 256>>>(values, kFloats);
    Check(cudaDeviceSynchronize(), "the kernel");
    ++launches;
  }
  Check(cudaFree(values), "cudaFree");
  std::printf("%ld launches in %ld s\n", launches, seconds);
  return 0;
}
