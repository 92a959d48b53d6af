module github.com/kubernetes-csi/csi-proxy/proxy/v2

go 1.25.0

require (
	github.com/kubernetes-csi/csi-proxy/v2 v2.0.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	go.yaml.in/yaml/v3 v3.0.5
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/kubernetes-csi/csi-proxy/v2 => ../
