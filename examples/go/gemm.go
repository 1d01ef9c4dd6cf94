// A client with Go's standard library alone: compiles a GEMM and runs it on this program's own memory.
// Run: go run examples/go/gemm.go SOCKET   (`kiln daemon status` tells the socket)
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"net"
	"os"
	"syscall"
	"unsafe"
)

const m, n, k = 64, 48, 32
type object = map[string]any

var conn *net.UnixConn
var replies *bufio.Reader

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// call sends one request, with descriptors, and gives its result.
func call(method string, params object, fds ...int) object {
	line, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params, "fds": len(fds)})
	must(err)
	_, _, err = conn.WriteMsgUnix(append(line, '\n'), syscall.UnixRights(fds...), nil)
	must(err)
	for {
		text, err := replies.ReadBytes('\n')
		must(err)
		var reply struct{ ID, Result, Error any }
		must(json.Unmarshal(text, &reply))
		if reply.Error != nil {
			log.Fatal(method, ": ", reply.Error)
		}
		if reply.ID != nil { // else: progress
			return reply.Result.(object)
		}
	}
}

// shared makes memory that both sides see: a memfd with sealing allowed, registered with the daemon.
func shared(count int) ([]float32, object) {
	name := []byte("go-gemm\x00")
	fd, _, _ := syscall.Syscall(319, uintptr(unsafe.Pointer(&name[0])), 1|2, 0) // memfd_create CLOEXEC|ALLOW_SEALING
	must(syscall.Ftruncate(int(fd), int64(count*4)))
	bytes, err := syscall.Mmap(int(fd), 0, count*4, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(err)
	buffer := call("buffer.register", object{"fd": object{"fd": 0}}, int(fd))["buffer"]
	return unsafe.Slice((*float32)(unsafe.Pointer(&bytes[0])), count), object{"buffer": buffer}
}

func main() {
	var err error
	conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: os.Args[1], Net: "unix"})
	must(err)
	replies = bufio.NewReader(conn)
	a, argA := shared(m * k)
	b, argB := shared(k * n)
	c, argC := shared(m * n)
	for i := 0; i < k*m || i < k*n; i++ {
		a[i%(m*k)], b[i%(k*n)] = float32(i%7-3), float32(i%5-2)
	}
	kernel := call("kernel.compile", object{"program": "gemm", "set": object{"M": m, "N": n, "K": k, "dtype": "f32"}})
	call("kernel.launch", object{"key": kernel["key"], "args": object{"A": argA, "B": argB, "C": argC}})
	for i, sum := 0, float32(0); i < m*n; i, sum = i+1, 0 {
		for j := 0; j < k; j++ {
			sum += a[i/n*k+j] * b[j*n+i%n]
		}
		if c[i] != sum {
			log.Fatalf("C[%d] is %v, want %v", i, c[i], sum)
		}
	}
	os.Stdout.WriteString("gemm: every element is right\n")
}
