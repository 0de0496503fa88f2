#!/bin/sh
# LATE-REFUSAL: a run of hours ends with the word that its file's folder is not there, and what it computed is lost.
# Here what cannot be written is refused before anything is opened: the model named is none, and is not even missed.
. "$2/tests/failures/cli.sh"
dense d.gguf
chats 4 c.jsonl
echo "Some words of a text that is long enough to be read by somebody." >text.txt
quietly "$hone" logits d.gguf --tokens 1,2,3 --out x.npy
sums() { ls; cat d.gguf c.jsonl text.txt x.npy | sha256sum; }
unwritable() { # PATTERN COMMAND...
    before=$(sums)
    refuses "$@"
    is "$*: status" 1 "$got"
    is "$*: standard output" "" "$(cat out)"
    is "$*: the folder" "$before" "$(sums)"
}
none="no/x: no file can be made in no/: No such file or directory"
for command in "run none.gguf -p a --session no/x" "chat none.gguf --session no/x" "train none.gguf --data c.jsonl --out no/x" \
    "perplexity none.gguf text.txt --save no/x" "logits none.gguf -p a --out no/x" "embed none.gguf a --out no/x" \
    "imatrix none.gguf text.txt --out no/x" "grads none.gguf --data c.jsonl --out no/x" "merge none.gguf a.gguf --out no/x" \
    "export a.gguf --base none.gguf --gguf no/x" "export a.gguf --base none.gguf --peft no/x" "import none no/x --base none.gguf" \
    "convert none no/x" "quantize none.gguf no/x q8_0" "plan none.gguf --of token --svg no/x" "prove none.gguf --data c.jsonl --json no/x" \
    "bench none.gguf --json no/x" "jobs fetch ftjob-1 --server 127.0.0.1:1 --out no/x" "demo --out no/x" "tiny no/x" \
    "story --count 100000000 --out no/x" "new llama no/x layers=1000" "new-tokenizer no/x none.txt"; do
    unwritable "$none" "$hone" $command
done
unwritable "no/x: no file can be made" "$hone" op silu --in x.npy --out no/x
unwritable "no/x0.npy: no file can be made" "$hone" op silu --in x.npy --dout x.npy --din no/x
refuses "y.npy: two results would go there" "$hone" op softmax --in x.npy --out y.npy --out y.npy --overwrite

# A folder that is a file, a link to nothing, what has no room for a name, and a device.
echo mine >file
ln -s nowhere link
long=$(printf '%0250d' 0)
unwritable "file: not a folder" "$hone" train none.gguf --data c.jsonl --out file
unwritable "file/: not a folder" "$hone" train none.gguf --data c.jsonl --out file/
unwritable "file/x: no file can be made in file/" "$hone" train none.gguf --data c.jsonl --out file/x
unwritable "link: not a folder" "$hone" train none.gguf --data c.jsonl --out link
unwritable "$long: no file can be made in .: File name too long" "$hone" logits none.gguf -p a --out "$long"
unwritable "/dev/full: not a regular file" "$hone" run none.gguf -p a --session /dev/full
mkfifo pipe
unwritable "pipe: not a regular file" "$hone" run none.gguf -p a --session pipe
mkdir closed && chmod 555 closed
if ! touch closed/x 2>/dev/null; then # not of one who may do everything
    unwritable "closed/x: no file can be made in closed/: Permission denied" "$hone" run none.gguf -p a --session closed/x
    unwritable "closed: .*Permission denied|closed/.*Permission denied" "$hone" train none.gguf --data c.jsonl --out closed
fi
# What can be written is, whatever separators end a folder's name; and a session is a file of its own, replaced unasked.
for folder in new new/ ./new//; do
    quietly "$hone" train d.gguf --data c.jsonl --out $folder --steps 1 --batch 2 --rank 2 --targets attn_q --overwrite
    is "what lies in $folder" "" "$(ls -A new | grep -E 'partial|^[.]')"
done
quietly "$hone" run d.gguf -p a -n 2 --ignore-end --session s.bin
quietly "$hone" run d.gguf -p a -n 2 --ignore-end --session s.bin
refuses "--session: expected a file's name, found none" "$hone" run d.gguf -p a --session ""
refuses "--out: expected a folder's name, found none" "$hone" train d.gguf --data c.jsonl --out ""
passed
