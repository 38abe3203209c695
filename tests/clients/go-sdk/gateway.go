package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// What stands in front of the router on a cluster: it says who it is to the router, since those who use it do not.
func gateway(listen, router, token string) error {
	target, err := url.Parse(router)
	if err != nil {
		return err
	}
	rewrite := func(request *httputil.ProxyRequest) {
		request.SetURL(target)
		request.Out.Header.Set("Authorization", "Bearer "+token)
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println("open")
	// Clients that leave early are none of its business.
	silent := log.New(io.Discard, "", 0)
	proxy := &httputil.ReverseProxy{Rewrite: rewrite, FlushInterval: -1, ErrorLog: silent}
	server := &http.Server{Handler: proxy}
	told := untilTold()
	go func() {
		<-told.Done()
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
