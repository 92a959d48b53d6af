module github.com/kubernetes-csi/csi-proxy/proxy/v2

go 1.25.0

require github.com/kubernetes-csi/csi-proxy/v2 v2.0.0

replace github.com/kubernetes-csi/csi-proxy/v2 => ../
