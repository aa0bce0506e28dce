-- The same four programs on GHC with its own locks: an MVar per account, one per list, one per bucket, one for
-- the counter.
module Main (main) where
import Control.Concurrent
import Control.Monad
import Data.Array
import Data.Bits
import Data.IORef
import Data.Word
import GHC.Clock (getMonotonicTimeNSec)
import Text.Printf
import System.IO

next :: Word64 -> Word64
next x0 = let x1 = x0 `xor` (x0 `shiftL` 13); x2 = x1 `xor` (x1 `shiftR` 7) in x2 `xor` (x2 `shiftL` 17)
pick :: Word64 -> Int -> Int
pick x n = fromIntegral ((x `shiftR` 20) `mod` fromIntegral n)

-- run total operations split over th threads
split :: Int -> Int -> (Word64 -> IO ()) -> IO Double
split total th op = do
  dones <- forM [1 .. th] $ \i -> do
    d <- newEmptyMVar
    return (i, d)
  t0 <- getMonotonicTimeNSec
  forM_ dones $ \(i, d) -> forkOn i $ do
    let go 0 _ = return ()
        go k x = op x >> go (k - 1 :: Int) (next x)
    go (total `div` th) (fromIntegral i * 88172645463325252 + 7)
    putMVar d ()
  forM_ dones (takeMVar . snd)
  t1 <- getMonotonicTimeNSec
  return (fromIntegral (t1 - t0) / fromIntegral total)

report :: String -> Int -> [Double] -> IO ()
report n th ts = forM_ ts $ \t -> printf "RESULT\tstm\tghc-locks\t%s th=%d\t%.1f\tns/op\n" n th t >> hFlush stdout

data Node = Nil | Cons !Int !(IORef Node)
data Set = Set !(MVar ()) !(IORef Node)

newSet :: IO Set
newSet = Set <$> newMVar () <*> newIORef Nil

-- The reference that leads to the first node that is not less.
find :: IORef Node -> Int -> IO (IORef Node)
find h k = readIORef h >>= \l -> case l of
  Cons v n | v < k -> find n k
  _ -> return h

insert, delete, member :: IORef Node -> Int -> IO ()
insert h k = find h k >>= \p -> readIORef p >>= \l -> case l of
  Cons v _ | v == k -> return ()
  _ -> newIORef l >>= \t -> writeIORef p $! Cons k t
delete h k = find h k >>= \p -> readIORef p >>= \l -> case l of
  Cons v n | v == k -> readIORef n >>= writeIORef p
  _ -> return ()
member h k = find h k >>= \p -> readIORef p >>= \l -> case l of
  Cons v _ | v == k -> return ()
  _ -> return ()

setOp :: (Int -> Set) -> Int -> Word64 -> IO ()
setOp at range x = do
  let k = pick x range; c = x .&. 15; Set m h = at k
  takeMVar m
  if c == 0 then insert h k else if c == 1 then delete h k else member h k
  putMVar m ()

transfer :: Array Int (MVar Int) -> Word64 -> IO ()
transfer accs x = do
  let i = pick x 1000; j = pick (next x) 1000
  unless (i == j) $ do
    let a = accs ! min i j; b = accs ! max i j; d = if i < j then -1 else 1
    va <- takeMVar a
    vb <- takeMVar b
    putMVar b $! vb - d
    putMVar a $! va + d

main :: IO ()
main = forM_ [1, 2, 4] $ \th -> do
  -- A contended MVar is handed from one thread to the next in their order, which takes microseconds.
  let contended n = if th == 1 then n else n `div` 20
  accs <- fmap (listArray (0, 999)) (replicateM 1000 (newMVar (1000 :: Int)))
  report "bank-1000" th =<< replicateM 3 (split 2000000 th (transfer accs))
  tot <- sum <$> mapM readMVar (elems accs)
  when (tot /= 1000000) (error "bank")
  l <- newSet
  let Set _ h = l
  forM_ [0, 2 .. 511] (insert h)
  report "list-512-12%upd" th =<< replicateM 3 (split (contended 200000) th (setOp (const l) 512))
  bs <- fmap (listArray (0, 1023)) (replicateM 1024 newSet)
  forM_ [0, 2 .. 4095] (\k -> let Set _ b = bs ! (k .&. 1023) in insert b k)
  report "hashset-4096-12%upd" th =<< replicateM 3 (split 2000000 th (setOp (\k -> bs ! (k .&. 1023)) 4096))
  c <- newMVar (0 :: Int)
  report "counter" th =<< replicateM 3 (split (contended 2000000) th $ \_ -> takeMVar c >>= \v -> putMVar c $! v + 1)
