// Requests that are kept for a log that nobody reads.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

func handle(request int) {
	kept = append(kept, make([]byte, 20_000)) // LEAK
}

func main() {
	runtime.MemProfileRate = 4096
	for request := range 1000 {
		handle(request)
	}
	runtime.GC()
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	pprof.Lookup("heap").WriteTo(file, 0)
	file.Close()
	runtime.KeepAlive(kept)
}
